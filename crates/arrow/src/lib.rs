//! Sort Arrow record batches larger than memory by any of their columns.
//!
//! A [`BatchSorter`] holds the settings, a [`BatchSorting`] takes batches, [`SortedBatches`]
//! returns them.
//!
//! ```text
//!                     .- Resident: kept, with keys --> order --> gathered ----.
//!  BatchSorting --> or                                                         > SortedBatches
//!                     '- Spill: rows --> xsort::Sorter --> rows, decoded -----'
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `sorter`, `sorting`, `sorted` | settings; the half that takes batches; the half that returns |
//! | `settings` | settings that both halves use |
//! | `by`, `keys` | the columns to sort by; bytes that compare as they do |
//! | `resident` | batches that fit in memory |
//! | `spill` | batches that don't |
//! | `rows` | batches as rows of bytes, and back |
//! | `encode`, `decode`, `value` | a column's values in rows of bytes |
//! | `digest` | keys and sums of batches, for sorts on many machines |
//! | `ordered` | threads whose results come in order |
//! | `memory` | how the budget is divided, and how much of it batches use |
//! | `progress` | the progress of a sort in memory |
#![forbid(unsafe_code)]

mod by;
mod decode;
mod digest;
mod encode;
mod error;
mod keys;
mod memory;
mod ordered;
mod progress;
mod report;
mod resident;
mod rows;
mod settings;
mod sorted;
mod sorter;
mod sorting;
mod spill;
mod value;

pub use by::SortColumn;
pub use digest::{BatchDigest, BatchDigester};
pub use error::Error;
pub use ordered::Ordered;
pub use report::BatchReport;
pub use sorted::SortedBatches;
pub use sorter::BatchSorter;
pub use sorting::BatchSorting;
