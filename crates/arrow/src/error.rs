//! Why batches can't be sorted.

use arrow_schema::ArrowError;

/// Why batches can't be sorted. Each message is one line, and ends with what to do about it if
/// anything can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A column to sort by that there is not, or that has no order.
    #[error("{0}")]
    Column(String),

    /// A batch that isn't of the schema.
    #[error("{0}")]
    Schema(String),

    /// The sort itself has failed.
    #[error(transparent)]
    Sort(#[from] xsort::Error),

    /// A column can't be made.
    #[error("{0}")]
    Arrow(#[from] ArrowError),

    /// A thread panicked.
    #[error("a thread failed: this is a fault of xsort, please report it")]
    Panicked,
}
