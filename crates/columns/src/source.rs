//! Batches of inputs in order, whatever their format.

use arrow_array::RecordBatch;
use xsort_extsort::Error;

/// Some rows of an input.
pub(crate) struct InputBatch {
    /// The index of the input.
    pub(crate) input: usize,
    /// Bytes of these rows in the file, about: for the progress.
    pub(crate) bytes: u64,
    pub(crate) rows: RecordBatch,
}

/// Returns the rows of all inputs.
pub(crate) trait Source {
    /// Returns the next rows, and `None` after the last ones.
    ///
    /// # Errors
    /// [`Error::Input`] if an input is damaged.
    fn next(&mut self) -> Result<Option<InputBatch>, Error>;
}
