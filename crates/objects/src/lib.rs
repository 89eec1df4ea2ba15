//! Object stores as a disk: inputs and outputs that are named by URLs, beside files.
//!
//! ```text
//!  pipeline ──Request──> ObjectDisk ──(a path)──> the local disk
//!                            │
//!                            │ (s3://, gs://, az://, https://)
//!              ┌─────────────┴──────────────┐
//!            read                         write
//!              │                            │ copied, and completed
//!   ranges of one version            parts in memory (upload/)
//!   into the request's lease                │ full
//!              │                            v
//!              └──────> threads, one a connection; each asks again (retry) <──── Client
//!                                                                     Stores │ SimStore
//! ```
//!
//! | files | idea |
//! |---|---|
//! | `disk`, `settings` | the disk, and what it takes |
//! | `limits`, `cost` | settings for a job, by its memory; how many requests it makes |
//! | `location`, `failure`, `stop` | what a URL names; what went wrong and the way out; giving up |
//! | `client` | what is asked of a store |
//! | `checksums/` | what it says of bytes, compared with what was sent and what is read |
//! | `retry`, `workers` | asking again; the threads that ask |
//! | `input`, `listing` | an object that is read; what is at a URL and below it |
//! | `list_check` | which lists of objects are taken |
//! | `bucket` | the same without a disk, and uploads that killed jobs left |
//! | `upload/` | an object that is written: parts, how they are sent and become an object |
//! | `stores`, `requests/` | stores over HTTP: what is asked of them; requests and answers |
//! | `s3/`, `gs/`, `az/`, `environment` | where each kind of store is, and credentials |
//! | `az/blobs` | the requests of Azure's that no other store has |
//! | `sim/` | a simulated store, in which everything can fail |
//!
//! What always holds:
//!
//! - *One version.* All that is read of an object is of the version that was there when it was
//!   opened, byte for byte: each range is asked for on that condition, its place and length are
//!   compared, and what comes short is asked for again from where it ended.
//! - *Whole or not at all.* An output appears when all its parts are in the store with the lengths
//!   and checksums that were sent, and then it is looked at once more. Every other way out removes
//!   what was sent: an error, closing, dropping the disk, and [`abandon_uploads`] for a process
//!   that ends at once. An upload whose beginning got no answer may stay; it has no bytes. Of Azure
//!   nothing can be removed: what was sent is seen by nobody, and vanishes after a week. Only a
//!   persistent output stays under way, until it is published or removed, and none of its parts
//!   becomes a part of the object that isn't in the store as it was sent.
//! - *Memory.* Beside the leases of requests never more than [`ObjectSettings::memory_bytes`], and
//!   no writer waits for ever for a part of it (`upload/mod.rs` has the proof).
//! - *Time.* A request is made again for [`RetryPolicy::give_up_after`]; the error says how often
//!   and how long. No time limit spans a stall of the caller's.
//!
//! Reads of 1 MiB are requests of 1 MiB: neighbours aren't joined. Knows nothing of keys or order.

#![forbid(unsafe_code)]

mod ahead;
mod az;
mod bucket;
mod checksums;
mod client;
mod cost;
mod disk;
mod environment;
mod failure;
mod gs;
mod input;
mod limits;
mod list_check;
mod listing;
mod location;
mod requests;
mod retry;
mod s3;
mod settings;
mod sim;
mod stop;
mod stores;
mod upload;
mod workers;

pub use bucket::Bucket;
pub use client::{
    Body, Checksums, Client, Listed, ListedPage, ListedPart, ListedUpload, ObjectInfo, Part,
    Payload, Receipt, StoredChecksum, Version,
};
pub use cost::Requests;
pub use disk::{ObjectDisk, connect};
pub use environment::Environment;
pub use failure::{Failure, Reason};
pub use limits::{GivenLimits, ObjectLimits, ObjectUse};
pub use location::{Location, Scheme};
pub use settings::{ObjectSettings, RetryPolicy};
pub use sim::{SimStore, StoreCall, StoreFault, StoreOptions, StoreTrouble};
pub use stop::{Stop, stop_looking};
pub use upload::{UploadUnderWay, abandon_uploads, uploads_left, uploads_under_way};
