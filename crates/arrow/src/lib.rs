//! Sort Arrow record batches bigger than memory, by any of their columns.
//!
//! A [`BatchSorter`] says what is wanted, a [`BatchSorting`] takes batches, [`SortedBatches`] gives
//! them out.
//!
//! ```text
//!                     .- Resident: kept, with keys --> order --> gathered ----.
//!  BatchSorting --> or                                                         > SortedBatches
//!                     '- Spill: rows --> xsort::Sorter --> rows, decoded -----'
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `sorter`, `sorting`, `sorted` | what is asked for; the half that takes; the half that gives |
//! | `settings` | what both halves know of that |
//! | `by`, `keys` | which columns; bytes that compare as they do |
//! | `resident` | batches that fit in memory |
//! | `spill` | batches that don't |
//! | `rows` | batches as rows of bytes, and back |
//! | `encode`, `decode`, `value` | a column's values there |
//! | `digest` | keys and sums of batches, for sorts on many machines |
//! | `ordered` | threads whose results come in order |
//! | `memory` | how the budget is divided, and what batches take of it |
//! | `progress` | how far a sort in memory is |
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

pub use digest::{BatchDigest, BatchDigester};
pub use error::Error;
pub use report::BatchReport;
pub use sorted::SortedBatches;
pub use sorter::BatchSorter;
pub use sorting::BatchSorting;
