//! The pipelines: they plan, read, sort, write and report.
//!
//! ```text
//! sorter  prefixed        records that are pushed and pulled | that begin with their length
//!     \     /
//!      keyed              records of any bytes with keys, as lines
//!           |
//! records  lines          records of one size | lines
//!    \     /
//!     store               files on drives: scratch, seals, journal, checkpoint; drives' rates
//!       |
//!      job                what every pipeline uses: errors, observer, threads, times, traffic
//! ```
//!
//! Imports only point down, and `records` and `lines` are independent of each other. Three more
//! modules need only `job`:
//!
//! | module | what it does |
//! |---|---|
//! | `in_memory` | sorts fixed-size records that the caller has in memory |
//! | `generate` | generates benchmark data at the drive's speed |
//! | `verify` | verifies a result at the drive's speed |
//!
//! Bytes are read and written through a [`Disk`](xsort_disk::Disk), and progress is reported to an
//! [`Observer`]. Both are arguments.
#![forbid(unsafe_code)]

mod generate;
mod in_memory;
mod job;
pub mod keyed;
pub mod lines;
pub mod prefixed;
pub mod records;
pub mod sorter;
mod store;
mod verify;

pub use generate::{GenerateOptions, GenerateReport, generate};
pub use in_memory::{InMemoryOptions, order_in_memory, sort_in_memory, sort_in_place};
pub use job::error::Error;
pub use job::gauges::{Compressed, Gauges, JobInfo, Reading, Spilled};
pub use job::observer::{Observer, Unobserved};
pub use job::process::{cpu_seconds, peak_memory_bytes};
pub use job::spans::{Lane, Span, SpanKind, Spans};
pub use job::stage_times::Stage;
pub use job::units;
pub use lines::{LinesOptions, LinesReport, Reservation, Share, merge_lines, sort_lines};
pub use records::{DryRun, Plan, SortOptions, SortReport, Stream, dry_run, sort, sort_streamed};
pub use store::checkpoint::{Begin, Checkpoint, InterruptedSort, interrupted_sort};
pub use store::compression::{Codec, Load, Measure};
pub use store::probe::{DriveRates, probe};
pub use store::scratch_directories::scratch_directories;
pub use verify::{
    PrefixedVerifyOptions, PrefixedVerifyReport, VerifyOptions, VerifyReport, verify,
    verify_prefixed, verify_stream,
};
pub use xsort_kernels::Caches;
