//! What is merged: a range of a sorted slice.

use crate::error::Error;
use crate::part_entry::PartEntry;
use std::path::PathBuf;
use xsort_records::Checksum;

/// What a slice has of a part, and where.
#[derive(Clone, Debug)]
pub struct MergeRange {
    /// Its place, count and sum.
    pub entry: PartEntry,
    /// The file.
    pub path: PathBuf,
    /// The directory or URL that has it, for errors.
    pub origin: String,
}

/// Count and sum of what ranges have.
pub(crate) fn checksum_of(ranges: &[MergeRange]) -> Checksum {
    let mut sum = Checksum::default();
    ranges.iter().for_each(|range| sum.merge(range.entry.checksum()));
    sum
}

impl MergeRange {
    /// An error of reading it.
    pub(crate) fn lost(&self, error: impl Into<Error>) -> Error {
        match error.into() {
            cancelled @ Error::Engine(xsort_extsort::Error::Cancelled) => cancelled,
            cause => Error::LostSource { origin: self.origin.clone(), cause: Box::new(cause) },
        }
    }

    /// Compares what has come of it with what was written.
    ///
    /// # Errors
    /// [`Error::DamagedSlice`] if that isn't the same.
    pub(crate) fn check(&self, came: Checksum) -> Result<(), Error> {
        let sent = self.entry.checksum();
        if came == sent {
            return Ok(());
        }
        let what = format!(
            "{} records with checksum {came} have come, and {} with {sent} were written",
            came.records(),
            sent.records()
        );
        let (slice, origin) = (self.entry.slice, self.origin.clone());
        Err(Error::DamagedSlice { slice, origin, what })
    }
}
