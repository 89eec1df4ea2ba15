//! An external sort of fixed-size records.
//!
//! `sort` is the outline: check and plan, sort by the plan's method, compare the checksums of input
//! and output, publish the output. The two methods, `runs` and `bins`, are built from the same
//! stages:
//!
//! | file | idea |
//! |---|---|
//! | `options` | the caller's options |
//! | `plan` | the plan of a sort, computed from sizes and a budget alone |
//! | `prepare`, `dry_run` | checks before a sort |
//! | `spool`, `spooler`, `spool_seals` | a stream, stored until its ranges can be read |
//! | `pipeline` | reading, working and writing at the same time |
//! | `chunks`, `filler` | the input in chunks, and how they are read |
//! | `look` | what the inputs look like: in order, sorted stretches, or in any order |
//! | `in_order` | records that are in order already, copied to the output |
//! | `stretches`, `merge_inputs` | inputs or stretches of them in order, merged where they are |
//! | `rest` | what follows them in any order |
//! | `resident`, `chunk_journal` | chunks that stay in memory, and chunks in the journal |
//! | `output`, `seams` | the output file, filled by all threads at any byte |
//! | `pending_writes`, `frontier` | finished units of work, and the output's frontier |
//! | `removal`, `recheck` | removing inputs, and verifying scratch blocks before that |
//! | `compression` | compression of the blocks of runs on scratch |
//! | `memory`, `spill_memory` | the pool, passed from phase to phase |
//! | `job`, `phases`, `report` | state that all stages share, and reports |

mod bins;
mod chunk_journal;
mod chunks;
mod compression;
mod dry_run;
mod filler;
mod frontier;
mod in_order;
mod job;
mod look;
mod memory;
mod merge_inputs;
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
mod rest;
mod runs;
mod seams;
mod sort;
mod spill_memory;
mod spool;
mod spool_seals;
mod spooler;
mod stretches;

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
