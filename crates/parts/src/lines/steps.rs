//! Slices and parts of lines, with the engine of lines.

use super::Lines;
use crate::delimited::{
    MergedRecords, Reading, SortedData, check_written, cut_data, is_compressed, line_begin,
    merge_ranges, slice_inputs, verify_records,
};
use crate::error::Error;
use crate::hex::Hex;
use crate::job::{Job, JobInput};
use crate::manifest::{SliceFiles, SortedSlice};
use crate::means::Means;
use crate::merge_range::MergeRange;
use crate::sample::SliceSample;
use crate::splitters::Splitters;
use crate::steps::Steps;
use crate::summary::{Merged, Summary};
use std::cmp::Ordering;
use std::path::Path;
use xsort::{kernels_for, sort_in_order};
use xsort_extsort::lines::{FileOutput, SortedOutput};
use xsort_gnu::sort::Scratch;
use xsort_records::Checksum;

impl Steps for Lines {
    fn cut(&self, input: &JobInput, at: u64, means: &Means<'_>) -> Result<u64, Error> {
        match is_compressed(Path::new(&input.path), means)? {
            true => Ok(input.bytes),
            false => line_begin(input, at, self.delimiter, means),
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare(a, b, &mut Scratch::default())
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
        let Lines { order, delimiter } = self;
        let slice = &job.0.slices[slice];
        let (inputs, reservation) = slice_inputs(slice, means)?;
        let options = means.engine(*delimiter, reservation, &files.data);
        let output = SortedOutput::File { path: &files.data, sync: means.sync };
        let (disk, observer) = (&*means.job.disk, means.observer);
        let report = sort_in_order(&options, order, inputs, output, disk, observer)?;
        let by = kernels_for(order);
        let sorted = SortedData { path: &files.data, end: *delimiter, order: &*by };
        let cut = cut_data(job, slice, sorted, means)?;
        check_written(&report, &cut, &files.data)?;
        Ok(cut.ranges.into())
    }

    fn merge(
        &self,
        _job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        let bytes = ranges.iter().map(|range| range.entry.bytes).sum();
        let mut file = FileOutput::create(&*means.job.disk, output, bytes)?;
        let by = kernels_for(&self.order);
        let MergedRecords { checksum, ends } =
            merge_ranges(ranges, (self.delimiter, &*by), &mut file, output, means)?;
        file.publish(means.sync)?;
        Ok(Merged { checksum, bytes, keys: ends.map(|(first, last)| (Hex(first), Hex(last))) })
    }

    fn verify(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let mut scratch = Scratch::default();
        let reading = Reading {
            record: "line",
            end: self.delimiter,
            compare: |a: &[u8], b: &[u8]| self.order.compare(a, b, &mut scratch),
            records_of: |inputs, _| Ok(inputs),
        };
        verify_records(reading, job, summaries, validated, means)
    }
}
