//! Sorting lines of text: records of varying length, from files or streams whose size may be
//! unknown.
//!
//! ```text
//!  inputs --> areas of memory --> sorted runs --(only when memory is needed)--> scratch
//!                                      \                                          /
//!                                       `--------------> merge <-----------------'
//!                                                          |
//!                                              segments, in order --> output
//! ```
//!
//! Three layers, of which each imports only what is below:
//!
//! | file | idea |
//! |---|---|
//! | `sort`, `resumable` | the outlines: plan, form runs, merge; with a checkpoint, too |
//! | `sequential` | the plain merge: of little, and of what may not be in order |
//! | `check` | the first line out of order |
//! | | |
//! | `form` | phase one: read, sort, spill when memory is needed |
//! | `merge` | phase two: runs become the output |
//! | `spill` | a run on its way to scratch |
//! | `job` | what all threads of a sort share |
//! | `balance` | no line is lost or changed |
//! | | |
//! | `input` | where lines come from |
//! | `run`, `chunk`, `block` | sorted lines: a run, in memory as a chunk, on scratch in blocks |
//! | `codec` | compression of blocks |
//! | `areas` | memory for chunks |
//! | `plan`, `line_limits` | how the budget is divided, and how long lines may be |
//! | `options`, `report`, `dry_run` | what is asked for, what was done, and what would be |

mod areas;
mod balance;
mod block;
mod check;
mod chunk;
mod codec;
mod dry_run;
mod form;
mod input;
mod job;
mod line_limits;
mod merge;
mod options;
mod plan;
mod report;
mod resumable;
mod run;
mod sequential;
mod sort;
mod spill;

pub use check::first_disorder;
pub use codec::Codec;
pub use dry_run::{LinesDryRun, dry_run_lines};
pub use input::{Content, Decoders, InputBytes, LinesInput, OpenInput, take_header};
pub use options::{LinesCheckpoint, LinesOptions};
pub use report::LinesReport;
pub use sequential::{
    PassError, TemporaryFiles, merge_passes, merge_sequential, sequential_inputs_max,
};
pub use sort::{merge_lines, sort_lines};
pub use xsort_kernels::lines::{ByBytes, ByBytesReversed, LineOrder, Words};
