//! The pipelines: what is planned, read, ordered, written and reported.
//!
//! ```text
//! fixed   variable        records of one size | lines
//!    \     /
//!     store               what a sort keeps on drives: scratch, seals, journal, checkpoint
//!       |
//!      job                what every pipeline has: errors, observer, threads, times, traffic
//! ```
//!
//! Imports only point down, and `fixed` and `variable` don't know each other. Beside them, on
//! `job` alone:
//!
//! | module | what it does |
//! |---|---|
//! | `generate` | benchmark data at the drive's speed |
//! | `verify` | proof of a result at the drive's speed |
//! | `probe` | how fast a drive is, now |
//!
//! Bytes come and go through a [`Disk`](xsort_disk::Disk), progress leaves through an [`Observer`];
//! both are arguments.
#![forbid(unsafe_code)]

pub mod fixed;
mod generate;
mod job;
mod probe;
mod store;
pub mod variable;
mod verify;

pub use fixed::{DryRun, Plan, SortOptions, SortReport, Stream, dry_run, sort, sort_streamed};
pub use generate::{GenerateOptions, GenerateReport, generate};
pub use job::error::Error;
pub use job::gauges::{Gauges, JobInfo, Reading};
pub use job::observer::{Observer, Unobserved};
pub use job::process::{cpu_seconds, peak_memory_bytes};
pub use job::stage_times::Stage;
pub use job::units;
pub use probe::{DriveRates, probe};
pub use store::checkpoint::{Begin, Checkpoint};
pub use variable::{LinesOptions, LinesReport, merge_lines, sort_lines};
pub use verify::{VerifyOptions, VerifyReport, verify};
pub use xsort_kernels::Caches;
