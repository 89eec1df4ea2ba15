//! What a sort has on drives.
//!
//! | file | idea |
//! |---|---|
//! | `scratch`, `reserve` | blocks spread over the scratch drives, and the space for them |
//! | `places` | places in a file, each near where its block belongs |
//! | `scratch_directories` | where scratch goes |
//! | `seal` | whether a block comes back as it was written |
//! | `compression` | blocks that take fewer pages there |
//! | `journal` | finished steps of a sort, for a process that resumes it |
//! | `checkpoint` | all files of a sort that can be resumed |
//! | `output_prefix` | how much of the output is written, and whether that is still so |
//! | `read_ahead`, `write_behind` | sequential files past the page cache |
//! | `ordered_reads` | several reads in flight, whose bytes come in order |
//! | `merge_groups` | which runs an intermediate merge pass puts together |
//! | `content` | inputs that don't look like records |
//! | `probe` | how fast a drive is now |
//! | `open_files`, `transfer` | files that are closed whatever happens; one transfer, waited for |
//!
//! Nothing here knows a key or an order. `fixed` and `variable` both build on it.

pub(crate) mod checkpoint;
pub(crate) mod compression;
pub(crate) mod content;
pub(crate) mod journal;
pub(crate) mod merge_groups;
pub(crate) mod open_files;
pub(crate) mod ordered_reads;
pub(crate) mod output_prefix;
pub(crate) mod places;
pub(crate) mod probe;
pub(crate) mod read_ahead;
pub(crate) mod reserve;
pub(crate) mod scratch;
pub(crate) mod scratch_directories;
pub(crate) mod seal;
mod transfer;
pub(crate) mod write_behind;
