//! The steps for records that begin with their length.
//!
//! The end of a record is known only if its file is read from the beginning. So slices are whole
//! files, and a slice is read completely to sample it. Sorted data are keyed records, as for
//! tables.

mod sample;
mod verify;

use crate::error::Error;
use crate::job::{Job, JobInput, Slice};
use crate::keyed::{map_keyed, merge_keyed};
use crate::manifest::{SliceFiles, SortedSlice};
use crate::means::Means;
use crate::merge_range::MergeRange;
use crate::sample::SliceSample;
use crate::splitters::Splitters;
use crate::steps::Steps;
use crate::summary::{Merged, Summary};
use std::cmp::Ordering;
use std::path::Path;
use xsort_extsort::Reservation;
use xsort_extsort::keyed::ByKey;
use xsort_extsort::lines::LineOrder;
use xsort_extsort::prefixed::{
    KeyedRecords, PrefixedOptions, input_on, keyed_records, of_records_read,
};
use xsort_records::Checksum;

/// The delimiter isn't used: the code that builds keys decides where a keyed record ends.
const NO_DELIMITER: u8 = 0;

/// Records that begin with their length.
#[derive(Clone, Debug)]
pub struct Prefixed {
    /// Their prefix and key.
    pub options: PrefixedOptions,
}

impl Prefixed {
    /// Returns the records of a slice, with their keys.
    fn keyed(
        &self,
        slice: &Slice,
        output: &Path,
        means: &Means<'_>,
    ) -> Result<KeyedRecords, Error> {
        let inputs =
            slice.inputs.iter().map(|input| input_on(&means.job.disk, Path::new(&input.path)));
        let inputs = inputs.collect::<Result<_, _>>()?;
        let engine = means.engine(NO_DELIMITER, Reservation::default(), output);
        Ok(keyed_records(&self.options, &engine, inputs)?)
    }
}

impl Steps for Prefixed {
    fn cut(&self, input: &JobInput, _at: u64, _means: &Means<'_>) -> Result<u64, Error> {
        Ok(input.bytes)
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        ByKey.compare(a, b, &mut ())
    }

    fn sample(
        &self,
        job: &Job,
        slice: usize,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error> {
        self.sample_slice(&job.slices[slice], keys, means)
    }

    fn map(
        &self,
        job: (&Job, &Splitters),
        slice: usize,
        files: &SliceFiles,
        means: &Means<'_>,
    ) -> Result<SortedSlice, Error> {
        let slice = &job.0.slices[slice];
        let KeyedRecords { inputs, engine, .. } = self.keyed(slice, &files.data, means)?;
        let data = &files.data;
        Ok(map_keyed((job, slice), (inputs, &engine), of_records_read, data, means)?.into())
    }

    fn merge(
        &self,
        _job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        merge_keyed(&[], ranges, output, means)
    }

    fn verify(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        self.verify_outputs(job, summaries, validated, means)
    }
}
