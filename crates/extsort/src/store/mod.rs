//! Files of a sort: scratch, checkpoint, journal, input and output.
//!
//! | file | idea |
//! |---|---|
//! | `scratch`, `reserve` | blocks spread over the scratch drives, and the space for them |
//! | `places` | places in a file, each close to its block's final position |
//! | `scratch_directories` | the directories for scratch |
//! | `seal` | checksums that verify scratch blocks when they are read |
//! | `compression` | compression of scratch blocks |
//! | `journal` | finished steps of a sort, for a process that resumes it |
//! | `checkpoint` | all files of a sort that can be resumed |
//! | `output_prefix` | the written beginning of the output, and whether it is still intact |
//! | `read_ahead`, `write_behind` | sequential files past the page cache |
//! | `ordered_reads` | several reads in flight, whose bytes arrive in order |
//! | `merge_groups` | the division of runs into groups for an intermediate merge pass |
//! | `content` | inputs that don't look like records |
//! | `probe` | the current speed of a drive |
//! | `open_files`, `transfer` | files that are closed when dropped; one blocking transfer |
//!
//! Nothing here depends on keys or an order. `records` and `lines` both build on it.

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
