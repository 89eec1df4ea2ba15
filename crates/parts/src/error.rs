//! Why a step ended without a result.

use std::fmt::Write;
use xsort_disk::DisplayPath;

/// A step's failure. Its output doesn't exist, or is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a job's engine: it says which file, where, and what to do.
    #[error(transparent)]
    Engine(#[from] xsort_extsort::Error),

    /// No source has these slices.
    #[error(
        "part {part}: no source has the slices {}: map them, or name the sources that have them \
         (--from)",
        ranges(slices)
    )]
    MissingSlices {
        /// The part to be merged.
        part: usize,
        /// The slices, ascending.
        slices: Vec<usize>,
    },

    /// A source failed while it was accessed.
    #[error("the source {} failed: {cause}", DisplayPath(origin))]
    LostSource {
        /// The directory or URL.
        origin: String,
        /// Why.
        cause: Box<Error>,
    },

    /// A source's data of a slice differs from what was written.
    #[error(
        "slice {slice} from {} is damaged: {what}; remove slice-{slice}.json there and map the \
         slice again",
        DisplayPath(origin)
    )]
    DamagedSlice {
        /// The slice.
        slice: usize,
        /// The directory or URL.
        origin: String,
        /// Counts and checksums.
        what: String,
    },

    /// The parts are not the sorted input.
    #[error("{0}")]
    Invalid(String),
}

impl From<xsort_disk::Error> for Error {
    fn from(error: xsort_disk::Error) -> Error {
        Error::Engine(error.into())
    }
}

impl Error {
    /// An error about the memory that objects leave, as one about all memory.
    #[must_use]
    pub fn total_from_budget(self, job: &xsort::Job) -> Error {
        match self {
            Error::Engine(error) => Error::Engine(job.total_from_budget(error)),
            other => other,
        }
    }

    /// Returns the error for a file with unexpected content.
    pub(crate) fn input(path: &std::path::Path, reason: impl Into<String>) -> Error {
        let (path, reason) = (path.to_owned(), reason.into());
        Error::Engine(xsort_extsort::Error::Input { path, reason })
    }

    /// Returns the error for arguments that contradict each other.
    pub(crate) fn settings(reason: impl Into<String>) -> Error {
        Error::Engine(xsort_extsort::Error::Settings(reason.into()))
    }
}

/// Formats ascending numbers as ranges: `0, 3-5, 9`.
pub(crate) fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        let separator = if text.is_empty() { "" } else { ", " };
        let (first, last) = (run[0], run[run.len() - 1]);
        let _ = match first == last {
            true => write!(text, "{separator}{first}"),
            false => write!(text, "{separator}{first}-{last}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[0, 3, 4, 5, 9]), "0, 3-5, 9");
        assert_eq!(ranges(&[7]), "7");
    }
}
