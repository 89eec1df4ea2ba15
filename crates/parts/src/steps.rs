//! What each kind of data has its own form of: where it may be cut, what its keys are, how slices
//! are sorted and parts merged.

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

/// A kind of data, in an order.
pub trait Steps {
    /// Refuses an input of this length that can't be of the kind.
    ///
    /// # Errors
    /// Why not.
    fn check_input(&self, path: &Path, bytes: u64) -> Result<(), Error> {
        let _ = (path, bytes);
        Ok(())
    }

    /// What each part begins with, from the first of the inputs.
    ///
    /// # Errors
    /// If it can't be read, or isn't of the kind.
    fn header(&self, inputs: &[JobInput], means: &Means<'_>) -> Result<Option<Hex>, Error> {
        let _ = (inputs, means);
        Ok(None)
    }

    /// Where a slice may begin within an input: at the least offset that isn't below `at`, which is
    /// inside; the input's length if there is none.
    ///
    /// # Errors
    /// If the input has to be read for that, and can't be.
    fn cut(&self, input: &JobInput, at: u64, means: &Means<'_>) -> Result<u64, Error>;

    /// Orders keys as they are in samples, splitters and summaries.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// About `keys` keys of a slice, at evenly spaced places.
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

    /// Sorts a slice to the file of its data, and says what lies between the splitters. The inputs
    /// are unchanged when this begins.
    ///
    /// # Errors
    /// What sorts fail with.
    fn map(
        &self,
        job: (&Job, &Splitters),
        slice: usize,
        files: &SliceFiles,
        means: &Means<'_>,
    ) -> Result<SortedSlice, Error>;

    /// Merges ranges, in the order of their slices, to `output`. What has come of a range is
    /// compared with its entry, and what goes out with all that has come.
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

    /// How many records the inputs of a slice have, if their length says so.
    fn count(&self, job: &Job, slice: usize) -> Option<u64> {
        let _ = (job, slice);
        None
    }

    /// Reads all outputs, as one sequence, and the inputs where that proves anything, by code that
    /// the other steps don't use. `validated` is what the summaries say of all records.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they are out of order or other records, and what reading fails with.
    fn verify(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error>;
}
