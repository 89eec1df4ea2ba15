//! Slices and parts of rows, with the engine of keyed records.

use super::{NO_DELIMITER, Tables};
use crate::delimited::{Reading, is_compressed, line_begin, slice_inputs, verify_records};
use crate::error::Error;
use crate::hex::Hex;
use crate::job::{Job, JobInput};
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
use xsort_extsort::keyed::{ByKey, RECORD_END};
use xsort_extsort::lines::LineOrder;
use xsort_records::Checksum;
use xsort_table::{KeyedRows, of_rows};

impl Steps for Tables {
    fn header(&self, inputs: &[JobInput], means: &Means<'_>) -> Result<Option<Hex>, Error> {
        if inputs.is_empty() {
            return Err(Error::settings(
                "there is no input, whose header says what the columns are",
            ));
        }
        let mut paths = inputs.iter().filter(|input| input.bytes > 0).map(|input| &input.path);
        if !self.options.has_header {
            self.check_columns(paths, means)?;
            return Ok(Some(Hex(Vec::new())));
        }
        // A file that is empty after decompression has no header.
        let found = paths.find_map(|path| {
            let header = self.header_of(Path::new(path), means);
            header.map(|header| (!header.is_empty()).then_some(header)).transpose()
        });
        Ok(Some(Hex(found.transpose()?.unwrap_or_default())))
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
    ) -> Result<SortedSlice, Error> {
        let slice = &job.0.slices[slice];
        let (inputs, reservation) = slice_inputs(slice, means)?;
        let engine = means.engine(NO_DELIMITER, reservation, &files.data);
        let KeyedRows { inputs, engine, bad_rows, .. } =
            self.keyed(job.0, inputs, &engine, means.observer)?;
        let parts = map_keyed((job, slice), (inputs, &engine), of_rows, &files.data, means)?;
        Ok(SortedSlice { parts, bad_rows: bad_rows.count() })
    }

    fn merge(
        &self,
        job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        let Hex(header) = job.header.clone().unwrap_or_default();
        merge_keyed(&header, ranges, output, means)
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
            records_of: |inputs, reservation| {
                let engine = means.engine(NO_DELIMITER, reservation, Path::new("."));
                Ok(self.keyed(job, inputs, &engine, means.observer)?.inputs)
            },
        };
        verify_records(reading, job, summaries, validated, means)
    }
}
