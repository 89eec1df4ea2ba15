//! Slices and parts of rows, by the engine of keyed records.

use super::{NO_DELIMITER, Tables};
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
use std::io::Write;
use std::path::Path;
use xsort_extsort::keyed::{ByKey, RECORD_END, RestoredOutput, key_and_end};
use xsort_extsort::variable::{
    FileOutput, LineOrder, LinesInput, Recognised, SortedOutput, recognise, sort_lines_to,
};
use xsort_records::Checksum;
use xsort_table::{KeyedRows, keyed_rows, of_rows};

impl Steps for Tables {
    fn check_input(&self, _path: &Path, _bytes: u64) -> Result<(), Error> {
        Ok(())
    }

    fn header(&self, first: Option<&Path>, means: &Means<'_>) -> Result<Option<Hex>, Error> {
        let Some(path) = first else {
            return Err(Error::settings(
                "there is no input, whose header says what the columns are",
            ));
        };
        let input = LinesInput::on(&means.disk, path)?;
        let Recognised { inputs, taken_bytes, .. } =
            recognise(vec![input], false, || means.budget_bytes)
                .map_err(|(path, error)| xsort_disk::Error::of_read(path, error))?;
        let engine = means.engine(NO_DELIMITER, taken_bytes, path);
        let KeyedRows { header, .. } = keyed_rows(&self.options, &engine, inputs, means.observer)?;
        Ok(Some(Hex(header)))
    }

    fn cut(&self, input: &JobInput, at: u64, means: &Means<'_>) -> Result<u64, Error> {
        match !self.has_lines() || is_compressed(Path::new(&input.path), means)? {
            true => Ok(input.bytes),
            false => line_begin(input, at, b'\n', means),
        }
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
        self.sample_slice(job, slice, keys, means)
    }

    fn map(
        &self,
        job: (&Job, &Splitters),
        slice: usize,
        files: &SliceFiles,
        means: &Means<'_>,
    ) -> Result<Vec<PartRange>, Error> {
        let slice = &job.0.slices[slice];
        let (inputs, taken_bytes) = slice_inputs(slice, means)?;
        let KeyedRows { inputs, engine, .. } =
            self.keyed(job.0, inputs, (taken_bytes, &files.data), means)?;
        let output = SortedOutput::File { path: &files.data, sync: means.sync };
        let (disk, observer) = (&*means.disk, means.observer);
        let report = sort_lines_to(&engine, &ByKey, inputs, output, disk, observer)
            .map_err(|error| of_rows(error, observer))?;
        let cut = cut_data(job, slice, (&files.data, RECORD_END, &ByKey), means)?;
        check_written(&report, &cut, &files.data)?;
        Ok(cut.ranges)
    }

    fn merge(
        &self,
        job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        let Hex(header) = job.header.clone().unwrap_or_default();
        let bytes: u64 = ranges.iter().map(|range| range.entry.bytes).sum();
        let mut file = FileOutput::create(&*means.disk, output, bytes)?;
        let to_output = |error| Error::from(xsort_extsort::Error::Output(error).of_output(output));
        file.write_all(&header).map_err(to_output)?;
        let mut rows = RestoredOutput::new(&mut file, u64::MAX);
        let order = (RECORD_END, &ByKey);
        let MergedRecords { checksum, ends } =
            merge_ranges(ranges, order, &mut rows, output, means)?;
        rows.flush().map_err(to_output)?;
        let bytes = header.len() as u64 + rows.written_bytes;
        drop(rows);
        file.publish(means.sync)?;
        let key = |keyed: Vec<u8>| Hex(key_and_end(&keyed).to_vec());
        Ok(Merged { checksum, bytes, keys: ends.map(|(first, last)| (key(first), key(last))) })
    }

    fn count(&self, _job: &Job, _slice: usize) -> Option<u64> {
        None
    }

    fn verify(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let reading = Reading {
            record: "row",
            end: RECORD_END,
            compare: |a: &[u8], b: &[u8]| ByKey.compare(a, b, &mut ()),
            records_of: |inputs, taken_bytes| {
                let place = (taken_bytes, Path::new("."));
                Ok(self.keyed(job, inputs, place, means)?.inputs)
            },
        };
        verify_records(reading, job, summaries, validated, means)
    }
}
