//! Object stores as a disk: inputs and outputs named by URLs, in addition to files.
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
//! | `disk`, `settings` | the disk, and its settings |
//! | `limits`, `cost` | settings for a job, by its memory; how many requests it makes |
//! | `location`, `failure`, `stop` | a URL's parts; failures and their remedies; cancellation |
//! | `client` | the interface of a store |
//! | `checksums/` | a store's checksums, compared with the bytes sent and read |
//! | `retry`, `workers` | repeating requests; the threads that make them |
//! | `input`, `listing` | an object that is read; the objects at a URL and below it |
//! | `list_check` | checks that a list of objects can be trusted |
//! | `bucket` | objects without a disk, and uploads that killed jobs left |
//! | `upload/` | an object that is written: its parts, how they are sent and become an object |
//! | `stores`, `requests/` | stores over HTTP: their interface; requests and answers |
//! | `s3/`, `gs`, `az/`, `environment` | the address of each kind of store, and credentials |
//! | `az/blobs` | Azure's requests that no other store has |
//! | `sim/` | a simulated store, in which everything can fail |
//!
//! Guarantees:
//!
//! - *One version.* All data read from an object is of the version that existed when it was opened,
//!   byte for byte. Each range is requested on that condition, its offset and length are checked,
//!   and missing bytes are requested again from where the answer ended.
//! - *Complete or not at all.* An output appears when all its parts are in the store with the
//!   lengths and checksums that were sent; then it is inspected once more. In every other case the
//!   sent parts are removed: after an error, on closing, on dropping the disk, and by
//!   [`abandon_uploads`] for a process that ends at once. An upload whose beginning got no answer
//!   may remain; it has no bytes. Azure can't remove parts: they are invisible, and vanish after a
//!   week. Only a persistent output stays under way until it is published or removed. A part of it
//!   becomes part of the object only if the store has it as it was sent.
//! - *Memory.* In addition to the leases of requests, never more than
//!   [`ObjectSettings::memory_bytes`]. No writer waits for ever for a part of it (`upload/mod.rs`
//!   has the proof).
//! - *Time.* A request is repeated for [`RetryPolicy::give_up_after`]; the error says how often and
//!   how long. The caller's stalls don't count towards a time limit.
//!
//! A read of 1 MiB is a request of 1 MiB: neighbouring reads aren't joined. The crate knows nothing
//! of keys or order.

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
    Payload, RangeAnswer, Receipt, StoredChecksum, Version,
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
