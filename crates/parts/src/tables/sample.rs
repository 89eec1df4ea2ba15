//! Samples the keys of rows at evenly spaced places.
//!
//! A line is treated as a row. If it isn't one, because a field contains line ends or a file is
//! only partly compressed, its key is missing or wrong. Then parts only become uneven.

use super::{NO_DELIMITER, Tables};
use crate::error::Error;
use crate::hex::Hex;
use crate::job::{Job, SliceInput};
use crate::lines::sample_lines;
use crate::means::Means;
use crate::sample::{SampledKey, SliceSample};
use std::io::{Cursor, Read};
use std::path::Path;
use xsort_extsort::keyed::{RECORD_END, key_and_end};
use xsort_extsort::lines::{Content, LinesInput};
use xsort_extsort::{LinesOptions, Reservation, Unobserved};

impl Tables {
    pub(super) fn sample_slice(
        &self,
        job: &Job,
        slice: usize,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error> {
        let slice = &job.slices[slice];
        let is_plain = |input: &SliceInput| match input.whole {
            true => Ok(!crate::delimited::is_compressed(Path::new(&input.path), means)?),
            false => Ok(true),
        };
        let lines = sample_lines(slice, keys, b'\n', means, is_plain)?;
        let engine = means.engine(NO_DELIMITER, Reservation::default(), Path::new("."));
        let engine = LinesOptions { threads: 1, ..engine };
        let mut keys = Vec::with_capacity(lines.len());
        for (offset, line) in lines {
            if let Some(key) = self.key_of(job, line, &engine) {
                keys.push(SampledKey { key: Hex(key), offset });
            }
        }
        Ok(SliceSample { slice: slice.index, bytes: slice.bytes, keys })
    }

    /// Returns the key of a row, if it is a valid row.
    fn key_of(&self, job: &Job, row: Vec<u8>, engine: &LinesOptions) -> Option<Vec<u8>> {
        let Hex(header) = job.header.clone().unwrap_or_default();
        // A file that consists of this row, after the header if there is one.
        let text =
            if self.options.has_header { [header, row, b"\n".to_vec()].concat() } else { row };
        let row = LinesInput {
            path: "a row of the sample".into(),
            bytes: Some(text.len() as u64),
            content: Content::Stream(Box::new(Cursor::new(text))),
        };
        let keyed = self.keyed(job, vec![row], engine, &Unobserved).ok()?;
        let mut bytes = Vec::new();
        for input in keyed.inputs {
            input.into_bytes().read_to_end(&mut bytes).ok()?;
        }
        let end = memchr::memchr(RECORD_END, &bytes)?;
        Some(key_and_end(&bytes[..end]).to_vec())
    }
}
