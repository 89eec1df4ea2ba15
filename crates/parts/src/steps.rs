//! The operations that differ for each kind of data: where it may be cut, its keys, how slices are
//! sorted and parts merged.

use crate::error::Error;
use crate::hex::Hex;
use crate::job::{Job, JobInput};
use crate::manifest::{SliceFiles, SortedSlice};
use crate::means::Means;
use crate::merge_range::MergeRange;
use crate::sample::SliceSample;
use crate::splitters::Splitters;
use crate::summary::{Merged, Summary};
use std::cmp::Ordering;
use std::path::Path;
use xsort_records::Checksum;

/// A kind of data with an order.
pub trait Steps {
    /// Checks that an input of this length can be of the kind.
    ///
    /// # Errors
    /// The reason why it can't.
    fn check_input(&self, path: &Path, bytes: u64) -> Result<(), Error> {
        let _ = (path, bytes);
        Ok(())
    }

    /// Returns the beginning of each part, from the first of the inputs.
    ///
    /// # Errors
    /// If it can't be read, or isn't of the kind.
    fn header(&self, inputs: &[JobInput], means: &Means<'_>) -> Result<Option<Hex>, Error> {
        let _ = (inputs, means);
        Ok(None)
    }

    /// Returns where a slice may begin within an input: the first possible offset from `at` on,
    /// which is inside the input; the input's length if there is none.
    ///
    /// # Errors
    /// If the input has to be read for that, and can't be.
    fn cut(&self, input: &JobInput, at: u64, means: &Means<'_>) -> Result<u64, Error>;

    /// Compares keys as they are in samples, splitters and summaries.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// Returns about `keys` keys of a slice, at evenly spaced places.
    ///
    /// # Errors
    /// If an input can't be read, or has changed.
    fn sample(
        &self,
        job: &Job,
        slice: usize,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error>;

    /// Sorts a slice to its data file, and returns the ranges between the splitters. The inputs are
    /// unchanged when this begins.
    ///
    /// # Errors
    /// The errors of a sort.
    fn map(
        &self,
        job: (&Job, &Splitters),
        slice: usize,
        files: &SliceFiles,
        means: &Means<'_>,
    ) -> Result<SortedSlice, Error>;

    /// Merges ranges, in the order of their slices, to `output`. The records read from a range are
    /// compared with its entry, and those written with all that were read.
    ///
    /// # Errors
    /// If a range can't be read or isn't what was written, or if the output can't be written.
    fn merge(
        &self,
        job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error>;

    /// Returns the number of records in a slice's inputs, if it follows from their length.
    fn count(&self, job: &Job, slice: usize) -> Option<u64> {
        let _ = (job, slice);
        None
    }

    /// Reads all outputs, as one sequence, and also the inputs if that proves anything, with code
    /// that the other steps don't use. `validated` is the checksum of all records according to the
    /// summaries.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they are out of order or have other records, and the errors of
    /// reading.
    fn verify(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error>;
}
