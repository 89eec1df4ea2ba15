//! Sort anything bigger than memory, at the speed of the drive that it lies on.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (data, sorted) = (folder.path().join("data"), folder.path().join("sorted"));
//! use xsort::{Format, Generate, Sort, Verify};
//!
//! Generate::records(10_000).run(&data)?;
//! let report = Sort::files([&data]).format(Format::Gensort).memory(1 << 20).run(&sorted)?;
//! let proof = Verify::files([&sorted]).run()?;
//! assert!(proof.is_sorted() && proof.checksum.to_string() == report.checksum);
//! # Ok(())
//! # }
//! ```
//!
//! A program can push its own records and pull them in order: a stream of any length in a fixed
//! amount of memory:
//!
//! ```
//! # fn main() -> Result<(), xsort::Error> {
//! struct Event {
//!     time: u64,
//!     name: String,
//! }
//! # let events = (0..100_u64).map(|n| Event { time: n * 37 % 100, name: format!("event {n}") });
//! let mut sorting = xsort::Sorter::new().memory(64 << 20).start()?;
//! for event in events {
//!     sorting.push(event.time.to_be_bytes(), event.name)?;
//! }
//! let mut sorted = sorting.finish()?;
//! while let Some((time, name)) = sorted.next()? {
//!     println!("{} {}", u64::from_be_bytes(time.try_into().unwrap()), name.escape_ascii());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | sort records of any bytes that a program pushes | [`Sorter`] |
//! | merge sorted iterators, lazily | [`merge_sorted`] |
//! | sort fixed-size records | [`Sort`] |
//! | sort records that begin with their length | [`Prefixed`] |
//! | sort fixed-size records in memory | [`SortSlice`] |
//! | sort lines of text, as GNU sort does | [`Lines`] |
//! | sort the rows of CSV, TSV and NDJSON files by typed columns | [`Table`] |
//! | check order, count and checksum of records | [`Verify`] |
//! | generate benchmark data | [`Generate`] |
//! | count the disk usage of trees | [`Du`] |
//!
//! Each is a builder with defaults that suit most machines. `run` works on the calling thread and
//! its own workers, and returns a report, or an [`Error`] that names the file, the offset, the
//! cause and the remedy. An output appears complete or not at all. (A [`Sorter`] has `start`
//! instead, and works on threads of its own.)
//!
//! Each takes `memory` (a hard limit in bytes for everything that grows with the data; unless set,
//! half of the available memory), `threads` (unless set, one for each processor), `on_progress` and
//! `on_notice` (closures), and `cancel` (a flag that other threads may set).
//!
//! # Objects of stores
//!
//! With the feature `objects`, a name that begins with `s3://`, `gs://`, `az://` or `https://` is
//! an object: an input, or (except `https://`) an output, which appears complete or not at all.
//! Credentials, region and endpoint are found as by the stores' own tools. The memory for objects
//! counts against the limit.
//!
//! ```no_run
//! # fn main() -> Result<(), xsort::Error> {
//! let sorted = "s3://bucket/sorted";
//! xsort::Sort::files(["s3://bucket/in/1", "s3://bucket/in/2"]).memory(1 << 30).run(sorted)?;
//! assert!(xsort::Verify::files([sorted]).run()?.is_sorted());
//! # Ok(())
//! # }
//! ```
//!
//! Without the feature, such names are refused. The feature also adds `abandon_uploads`, for a
//! process that ends while a job runs.
#![forbid(unsafe_code)]

mod bam;
mod cancel;
mod du;
mod generate;
mod gnu_order;
mod incremental_order;
mod job;
mod keyed_order;
mod late_output;
mod limited;
mod lines;
pub mod machine;
mod merge_or_sort;
mod merge_sorted;
mod objects;
mod prefixed;
mod progress;
mod records_order;
mod resources;
mod setup;
pub mod size;
mod sort;
mod sort_key;
mod sort_slice;
mod sorter;
mod table;
mod verify;

pub use bam::Bam;
pub use cancel::Cancel;
pub use du::{Du, TreeUsage};
pub use generate::Generate;
pub use gnu_order::{GnuOrder, kernels_for, read_lists};
pub use incremental_order::IncrementalOrder;
pub use job::Job;
pub use keyed_order::{GnuKeys, sort_in_order};
pub use late_output::LateOutput;
pub use limited::Limited;
pub use lines::Lines;
pub use merge_sorted::{MergeSorted, merge_sorted};
pub use prefixed::Prefixed;
pub use progress::{Callbacks, OnNotice, OnProgress, Progress, ProgressObserver};
pub use records_order::records_in_order;
pub use resources::Resources;
pub use setup::Setup;
pub use size::{IntoMemory, Memory};
pub use sort::Sort;
pub use sort_key::SortKey;
pub use sort_slice::SortSlice;
pub use sorter::Sorter;
pub use table::Table;
pub use verify::{Reading, Verdict, Verify};
pub use xsort_bam::{BamOrder, NoOrder};
pub use xsort_extsort::keyed::{Counted, KeyedReport};
pub use xsort_extsort::lines::{
    BadWithin, IndexColumns, IndexForm, IndexOptions, OutputCodec, Within,
};
pub use xsort_extsort::records::Method;
pub use xsort_extsort::sorter::{KeyAndRecord, Pusher, Sorted, SorterReport, Sorting};
pub use xsort_extsort::{Error, GenerateReport, LinesReport, Share, SortReport};
#[cfg(feature = "objects")]
pub use xsort_objects::abandon_uploads;
pub use xsort_records::{Checksum, Endian, Format, KeyField, KeyKind, Layout, Pattern, Prefix};
pub use xsort_table::{BadKeys, BestRow, Dialect, Keep, Keys, OnBad, Place, RowFormat};
pub use xsort_usage::Usage;
