//! Slices and parts of lines, by the engine of lines.

use super::Lines;
use crate::delimited::{
    MergedRecords, Reading, check_written, cut_data, is_compressed, line_begin, merge_ranges,
    slice_inputs, verify_records,
};
use crate::error::Error;
use crate::hex::Hex;
use crate::job::{Job, JobInput};
use crate::manifest::{PartRange, SliceFiles};
use crate::means::Means;
use crate::merge_range::MergeRange;
use crate::sample::SliceSample;
use crate::splitters::Splitters;
use crate::steps::Steps;
use crate::summary::{Merged, Summary};
use std::cmp::Ordering;
use std::path::Path;
use xsort::{InOrder, by_fastest_order, sort_in_order};
use xsort_extsort::variable::{FileOutput, LineOrder, SortedOutput};
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
    ) -> Result<Vec<PartRange>, Error> {
        by_fastest_order(&self.order, MapTask { lines: self, job, slice, files, means })
    }

    fn merge(
        &self,
        _job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        let task = MergeTask { lines: self, ranges, output, means };
        by_fastest_order(&self.order, task)
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

/// A slice to sort, by the fastest form of the order.
struct MapTask<'t, 'm> {
    lines: &'t Lines,
    job: (&'t Job, &'t Splitters),
    slice: usize,
    files: &'t SliceFiles,
    means: &'t Means<'m>,
}

impl InOrder for MapTask<'_, '_> {
    type Output = Result<Vec<PartRange>, Error>;

    fn run<O: LineOrder>(self, by: &O) -> Result<Vec<PartRange>, Error> {
        let MapTask { lines: Lines { order, delimiter }, job, slice, files, means } = self;
        let slice = &job.0.slices[slice];
        let (inputs, taken_bytes) = slice_inputs(slice, means)?;
        let options = means.engine(*delimiter, taken_bytes, &files.data);
        let output = SortedOutput::File { path: &files.data, sync: means.sync };
        let (disk, observer) = (&*means.disk, means.observer);
        let report = sort_in_order(&options, (order, by), inputs, output, disk, observer)?;
        let cut = cut_data(job, slice, (&files.data, *delimiter, by), means)?;
        check_written(&report, &cut, &files.data)?;
        Ok(cut.ranges)
    }
}

/// A part to merge.
struct MergeTask<'t, 'm> {
    lines: &'t Lines,
    ranges: &'t [MergeRange],
    output: &'t Path,
    means: &'t Means<'m>,
}

impl InOrder for MergeTask<'_, '_> {
    type Output = Result<Merged, Error>;

    fn run<O: LineOrder>(self, by: &O) -> Result<Merged, Error> {
        let MergeTask { lines, ranges, output, means } = self;
        let bytes = ranges.iter().map(|range| range.entry.bytes).sum();
        let mut file = FileOutput::create(&*means.disk, output, bytes)?;
        let MergedRecords { checksum, ends } =
            merge_ranges(ranges, (lines.delimiter, by), &mut file, output, means)?;
        file.publish(means.sync)?;
        Ok(Merged { checksum, bytes, keys: ends.map(|(first, last)| (Hex(first), Hex(last))) })
    }
}
