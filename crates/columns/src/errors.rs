//! Errors of the crates below in the words of this one.

use parquet::errors::ParquetError;
use std::io;
use std::path::Path;
use xsort_extsort::Error;

/// Returns an error of sorting batches.
pub(crate) fn of_arrow(error: xsort_arrow::Error) -> Error {
    match error {
        xsort_arrow::Error::Sort(error) => error,
        xsort_arrow::Error::Panicked => Error::Panicked,
        other => Error::Settings(other.to_string()),
    }
}

/// The memory of a job, in bytes: of its sort, and all other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) sort: u64,
    pub(crate) beside: u64,
}

impl Room {
    /// Returns an error of pushing rows of the input at `path`.
    pub(crate) fn of_push(self, error: xsort_arrow::Error, path: &Path) -> Error {
        match self.of_sort(error) {
            Error::LongRecord { bytes, needed_bytes: Some(needed), .. } => {
                let mib = (needed + self.beside).div_ceil(1 << 20) + 1;
                let reason =
                    format!("a row of {bytes} bytes is too long for the memory: give it -m {mib}M");
                Error::Input { path: path.to_owned(), reason }
            }
            error => error,
        }
    }

    /// Returns an error of the sort, with the memory of the whole job if it has too little.
    pub(crate) fn of_sort(self, error: xsort_arrow::Error) -> Error {
        match of_arrow(error) {
            Error::Memory { budget_bytes, needed_bytes } => {
                let times = needed_bytes.div_ceil(budget_bytes.max(1));
                let needed_bytes = self.beside + self.sort.saturating_mul(times);
                Error::Memory { budget_bytes: self.beside + self.sort, needed_bytes }
            }
            error => error,
        }
    }
}

/// Returns an error of starting a thread.
pub(crate) fn of_thread(error: io::Error) -> Error {
    Error::Settings(format!("a thread can't be started: {error}; give fewer threads"))
}

/// Returns an error of writing the output.
pub(crate) fn of_writing(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => Error::Output(*source),
            Err(other) => Error::Output(io::Error::other(other.to_string())),
        },
        other => Error::Settings(format!(
            "the output can't be written as Parquet: {}",
            crate::inputs::words(&other)
        )),
    }
}
