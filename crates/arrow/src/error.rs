//! Errors of sorting batches.

use arrow_schema::ArrowError;

/// The reason why batches can't be sorted. Each message is one line, and ends with the remedy if
/// there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A column to sort by doesn't exist, or has no order.
    #[error("{0}")]
    Column(String),

    /// A batch has another schema.
    #[error("{0}")]
    Schema(String),

    /// The sort itself failed.
    #[error(transparent)]
    Sort(#[from] xsort::Error),

    /// A column can't be built.
    #[error("{0}")]
    Arrow(#[from] ArrowError),

    /// A thread panicked.
    #[error("a thread failed: this is a fault of xsort, please report it")]
    Panicked,
}
