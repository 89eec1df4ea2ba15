//! An output: an object that appears under its key whole and at once, or not at all.
//!
//! ```text
//!  submit, in any order     parts in memory          on the way            in the store
//!  write ─┬─ copied ──────> | 3: pages . . x x | ──full──> put part 3 ──> part 3 ─┐
//!  write ─┘  and completed  | 4: x x . . . . . |                                  ├─ complete
//!  write ─── waits, if all memory is taken by parts that are filled or sent       │
//!            ─ publish ───> | 5: the last, cut | ─────────> put part 5 ──> part 5 ┘
//! ```
//!
//! A write is copied to the part where it belongs, and completed at once: what goes wrong with a
//! part later fails the writes that come then, or `publish`. A part is sent when all of its pages
//! are there and a later part has begun: so the last one, which `publish` cuts to the exact length,
//! is never sent too early.
//!
//! **No writer waits for ever.** A write waits only if all memory is taken by parts that wait, too,
//! or are on the way; what is on the way becomes free. A part that waits has a page and lacks one.
//! The page that it lacks is in no write that was submitted, for a write whose part is open never
//! waits. So it belongs to a range that a writer is still filling, by ascending offsets, or to the
//! page that such a range shares with a neighbour, or to a range that nobody has begun. Of a range
//! that is being filled that can be three parts: the one where it begins, the one where its writer
//! stands, and the one where it ends (inside, nothing behind the writer is missing and nothing
//! before him is there). Beyond all ranges it is one, and one more is the last part, which is not
//! sent though it is full. That makes at most `3 * writers + 2`, and there is memory for one more.
//!
//! A persistent output (`resume`) begins its upload at once and leaves it as it is when the process
//! ends. A later process that goes on with it fills the part in which it begins only from there on,
//! which is less to wait for.
//!
//! Whether the store has what was sent is compared with what it says of each part and of the object
//! (`checksums`), and by reading the object back where that is asked for (`read_back`).
//!
//! Not a file: what was written can't be read, or written again once its part was sent.

mod abandon;
mod outcome;
mod part;
mod publish;
mod read_back;
mod resume;
mod send;
mod state;
mod under_way;

pub use abandon::{UploadUnderWay, abandon_uploads, uploads_left, uploads_under_way};
pub(crate) use read_back::READ_BACK_BYTES;
pub(crate) use under_way::Upload;
