//! The pipelines: what is planned, read, ordered, written and reported.
//!
//! | module | what it does |
//! |---|---|
//! | `sort` | fixed-size records, by runs and merge or by scatter and gather |
//! | `lines` | lines of text, from files and streams |
//! | `generate` | benchmark data at the drive's speed |
//! | `verify` | proof of a result at the drive's speed |
//! | `probe` | how fast a drive is, now |
//!
//! Bytes come and go through a [`Disk`](xsort_disk::Disk), progress leaves through an [`Observer`];
//! both are arguments.
#![forbid(unsafe_code)]

mod checkpoint;
mod content;
mod error;
mod failure;
mod gauges;
mod generate;
mod journal;
mod ledger;
pub mod lines;
mod observer;
mod open_files;
mod prefix;
mod probe;
mod process;
mod scratch;
mod seal;
pub mod sort;
mod threads;
mod traffic;
pub mod units;
mod verify;

pub use checkpoint::{Begin, Checkpoint};
pub use error::Error;
pub use gauges::{Frame, Gauges, Reading};
pub use generate::{GenerateOptions, GenerateReport, generate};
pub use ledger::Stage;
pub use lines::{LinesOptions, LinesReport, merge_lines, sort_lines};
pub use observer::{Observer, Unobserved};
pub use probe::{DriveRates, probe};
pub use process::{cpu_seconds, peak_memory_bytes};
pub use sort::{DryRun, Plan, SortOptions, SortReport, Stream, dry_run, sort, sort_streamed};
pub use verify::{VerifyOptions, VerifyReport, verify};
pub use xsort_kernels::Caches;
