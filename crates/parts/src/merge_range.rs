//! A range of a sorted slice, as input of a merge.

use crate::error::Error;
use crate::part_entry::PartEntry;
use std::path::PathBuf;
use xsort_records::Checksum;

/// A slice's range for a part, and its location.
#[derive(Clone, Debug)]
pub struct MergeRange {
    /// Its offset, length, count and sum.
    pub entry: PartEntry,
    /// The slice's data file.
    pub path: PathBuf,
    /// The directory or URL of its source, for errors.
    pub origin: String,
}

/// Returns the count and sum of the records in all ranges.
pub(crate) fn checksum_of(ranges: &[MergeRange]) -> Checksum {
    let mut sum = Checksum::default();
    ranges.iter().for_each(|range| sum.merge(range.entry.checksum()));
    sum
}

impl MergeRange {
    /// Returns the error for a failed read of the range.
    pub(crate) fn lost(&self, error: impl Into<Error>) -> Error {
        match error.into() {
            cancelled @ Error::Engine(xsort_extsort::Error::Cancelled) => cancelled,
            cause => Error::LostSource { origin: self.origin.clone(), cause: Box::new(cause) },
        }
    }

    /// Compares the records that were read with those that were written.
    ///
    /// # Errors
    /// [`Error::DamagedSlice`] if they differ.
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
