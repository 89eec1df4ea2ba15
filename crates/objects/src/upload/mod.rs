//! An output: an object that appears under its key complete and at once, or not at all.
//!
//! ```text
//!  submit, in any order     parts in memory          on the way            in the store
//!  write ─┬─ copied ──────> | 3: pages . . x x | ──full──> put part 3 ──> part 3 ─┐
//!  write ─┘  and completed  | 4: x x . . . . . |                                  ├─ complete
//!  write ─── waits, if all memory is taken by parts that are filled or sent       │
//!            ─ publish ───> | 5: the last, cut | ─────────> put part 5 ──> part 5 ┘
//! ```
//!
//! A write is copied to its part and completed at once. A later failure of the part fails later
//! writes, or `publish`. A part is sent when all of its pages are there and a later part has begun.
//! So the last part, which `publish` cuts to the exact length, is never sent too early.
//!
//! **No writer waits for ever.** A write waits only if all memory is taken by parts that wait, too,
//! or are being sent; parts being sent become free. A waiting part has at least one page and lacks
//! at least one. No submitted write has the missing page, because a write whose part is open never
//! waits. So the missing page belongs to a range that a writer is still filling, by ascending
//! offsets, or to a page that such a range shares with a neighbour, or to a range that no writer
//! has begun. A range that is being filled can account for three waiting parts: the part where it
//! begins, the part where its writer is, and the part where it ends (between these, no page up to
//! the writer is missing and no page after it is there). All other ranges account for one. One more
//! is the last part, which is not sent although it is full. That is at most `3 * writers + 2`, and
//! there is memory for one more.
//!
//! A persistent output (`resume`) begins its upload at once and leaves it in the store when the
//! process ends. A later process that continues it fills its first part only from its starting
//! offset, so fewer pages can be missing.
//!
//! The store's content is checked by comparing the sent data with the store's checksums of each
//! part and of the object (`checksums`), and by reading the object back if requested (`read_back`).
//!
//! Unlike a file, an output can't be read, and a part can't be written again after it was sent.

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
