//! An external sort of fixed-size records.
//!
//! `sort` is the outline: check and plan, sort by the method of the plan, compare what went in with
//! what came out, put the output in place. The two methods, `runs` and `bins`, stand on the same
//! stages:
//!
//! | file | idea |
//! |---|---|
//! | `options` | what a caller wants |
//! | `plan` | what will be done, from sizes and a budget alone |
//! | `prepare`, `dry_run` | whether it can be done |
//! | `spool`, `spooler`, `spool_seals` | a stream, stored until its ranges can be read |
//! | `pipeline` | reading, working and writing at the same time |
//! | `chunks`, `filler` | the input in chunks, and how they are read |
//! | `resident`, `chunk_journal` | chunks that stay in memory, and chunks in the journal |
//! | `output`, `seams` | the output file, written at any byte and by any thread |
//! | `pending_writes`, `frontier` | which work is finished, and how far the output has no gap |
//! | `removal`, `recheck` | inputs that are to go, and blocks that are read once more before that |
//! | `compression` | blocks of runs that are compressed on scratch |
//! | `memory`, `spill_memory` | the pool, handed from phase to phase |
//! | `job`, `phases`, `report` | what all stages share, and what is reported |

mod bins;
mod chunk_journal;
mod chunks;
mod compression;
mod dry_run;
mod filler;
mod frontier;
mod job;
mod memory;
mod options;
mod output;
mod pending_writes;
mod phases;
mod pipeline;
mod plan;
mod prepare;
mod recheck;
mod removal;
mod report;
mod report_text;
mod resident;
mod runs;
mod seams;
mod sort;
mod spill_memory;
mod spool;
mod spool_seals;
mod spooler;

pub use bins::first_sampled;
pub use dry_run::{DryRun, dry_run};
pub use options::{Method, SortOptions, UnknownMethod};
pub use phases::Phase;
pub use plan::{Facts, MergeShape, Plan, ScatterShape, Shape, plan};
pub use report::{BinReport, ChunkReport, SortReport, floor_seconds};
pub use sort::{sort, sort_streamed};
pub use spool::{SpoolReport, Stream};

pub use crate::job::stage_times::StageTimes;
pub use crate::job::traffic::Moved;
