//! The part of the memory budget that the names of inputs take.
//!
//! A few names fit in the memory that the program needs besides the budget. The names of large
//! trees are all taken from the budget, so that it remains a limit for any number of files.

use xsort_extsort::units::Bytes;

/// Names that take at most this many bytes are not counted.
const UNCOUNTED_BYTES: u64 = 8 << 20;

/// Bytes that a file takes, besides two copies of its path: one in the list of files, one where the
/// files are read. Measured with a million files and paths of 37 bytes: 260 bytes for records, 200
/// for lines.
const FILE_BYTES: u64 = 224;

/// Bytes for data that the names must leave in the budget.
const DATA_BYTES_MIN: u64 = 2 << 20;

/// Sizes of files, and the memory that their names take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamesMemory {
    /// The size of each file in bytes, for planning.
    pub(crate) file_bytes: Vec<u64>,
    /// The number of requests to stores that listed the objects.
    pub(crate) lists: u64,
    bytes: u64,
}

/// The budget is too small for the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a memory budget of {} is too small for the names of {files} files and their data: \
     it needs at least {}",
    Bytes(*budget_bytes),
    Bytes(*needed_bytes)
)]
pub(crate) struct TooManyNames {
    files: usize,
    pub(crate) budget_bytes: u64,
    /// A budget in bytes that has room for the names, and leaves the requested budget for data.
    pub(crate) needed_bytes: u64,
}

impl NamesMemory {
    /// Adds a file, given by the length of its path and its size.
    pub(crate) fn add(&mut self, path_bytes: usize, file_bytes: u64) {
        self.file_bytes.push(file_bytes);
        self.bytes += FILE_BYTES + 2 * path_bytes as u64;
    }

    /// Bytes of the budget that the names take.
    pub(crate) fn budget_bytes(&self) -> u64 {
        if self.bytes <= UNCOUNTED_BYTES { 0 } else { self.bytes.next_multiple_of(4096) }
    }

    /// True if `budget_bytes` is enough for the names and some data.
    pub(crate) fn fits(&self, budget_bytes: u64) -> bool {
        let names_bytes = self.budget_bytes();
        names_bytes == 0 || names_bytes + DATA_BYTES_MIN <= budget_bytes
    }

    /// Checks that `budget_bytes` is enough for the names and some data.
    ///
    /// # Errors
    /// If the budget is too small.
    pub(crate) fn check(&self, budget_bytes: u64) -> Result<(), TooManyNames> {
        if self.fits(budget_bytes) {
            return Ok(());
        }
        let needed_bytes = self.budget_bytes() + budget_bytes.max(DATA_BYTES_MIN);
        Err(TooManyNames { files: self.file_bytes.len(), budget_bytes, needed_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_are_free_and_many_are_all_counted() {
        let mut names = NamesMemory::default();
        (0..1000).for_each(|_| names.add(30, 1));
        assert_eq!((names.budget_bytes(), names.check(1)), (0, Ok(())));
        (0..99_000).for_each(|_| names.add(30, 1));
        assert_eq!(names.budget_bytes(), 28_401_664);
        assert!(names.fits(31 << 20));
        let TooManyNames { files, needed_bytes, .. } = names.check(20 << 20).unwrap_err();
        assert_eq!((files, needed_bytes), (100_000, 28_401_664 + (20 << 20)));
        assert!(names.fits(needed_bytes));
    }
}
