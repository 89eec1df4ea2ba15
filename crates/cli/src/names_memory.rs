//! What the names of inputs take of the memory: as few as there mostly are, it is among what the
//! program takes beside the budget; the names of large trees are counted against it, all of them,
//! so that the budget stays a limit however many files there are.

use crate::size::Binary;
use xsort_extsort::Error;

/// Names that take no more than this are not counted.
const BESIDE_BYTES: u64 = 8 << 20;

/// What a file takes, its path counted twice: as the walk found it and as whoever reads it keeps
/// it. Measured with a million files and paths of 37 bytes: 260 for records, 200 for lines.
const FILE_BYTES: u64 = 224;

/// Memory for data that a budget leaves beside names, or it is refused at once, in bytes.
const DATA_BYTES_MIN: u64 = 2 << 20;

/// Files, and the memory that their names take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamesMemory {
    /// Of each file, for whoever plans what is to be done with them.
    pub(crate) file_bytes: Vec<u64>,
    bytes: u64,
}

/// The budget is too small for the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a memory budget of {} is too small for the names of {files} files and their data: it needs at least {needed_bytes}",
    Binary(*budget_bytes)
)]
pub(crate) struct TooMany {
    files: usize,
    pub(crate) budget_bytes: u64,
    /// With which there is enough for the names, and as much as was asked for beside them.
    pub(crate) needed_bytes: u64,
}

impl NamesMemory {
    /// Takes a file of so many bytes in, with a path of so many.
    pub(crate) fn add(&mut self, path_bytes: usize, file_bytes: u64) {
        self.file_bytes.push(file_bytes);
        self.bytes += FILE_BYTES + 2 * path_bytes as u64;
    }

    /// What of a budget the names take, in bytes.
    pub(crate) fn of_budget(&self) -> u64 {
        if self.bytes <= BESIDE_BYTES { 0 } else { self.bytes.next_multiple_of(4096) }
    }

    /// Whether a budget of so many bytes has room for them and for some data.
    pub(crate) fn fits(&self, budget_bytes: u64) -> bool {
        let names_bytes = self.of_budget();
        names_bytes == 0 || names_bytes + DATA_BYTES_MIN <= budget_bytes
    }

    /// The refusal of a budget from which these were taken, as one of the whole.
    pub(crate) fn beside(&self, error: Error) -> Error {
        match error {
            Error::Memory { budget_bytes, needed_bytes } => Error::Memory {
                budget_bytes: budget_bytes + self.of_budget(),
                needed_bytes: needed_bytes + self.of_budget(),
            },
            other => other,
        }
    }

    /// # Errors
    /// Unless it [`fits`](Self::fits).
    pub(crate) fn check(&self, budget_bytes: u64) -> Result<(), TooMany> {
        if self.fits(budget_bytes) {
            return Ok(());
        }
        let needed_bytes = self.of_budget() + budget_bytes.max(DATA_BYTES_MIN);
        Err(TooMany { files: self.file_bytes.len(), budget_bytes, needed_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_are_free_and_many_are_all_counted() {
        let mut names = NamesMemory::default();
        (0..1000).for_each(|_| names.add(30, 1));
        assert_eq!((names.of_budget(), names.check(1)), (0, Ok(())));
        (0..99_000).for_each(|_| names.add(30, 1));
        assert_eq!(names.of_budget(), 28_401_664);
        assert!(names.fits(31 << 20));
        let TooMany { files, needed_bytes, .. } = names.check(20 << 20).unwrap_err();
        assert_eq!((files, needed_bytes), (100_000, 28_401_664 + (20 << 20)));
        assert!(names.fits(needed_bytes));
    }
}
