//! Reading outputs and inputs again: the order of their keys, count and checksum of rows with them.

use super::Tables;
use crate::delimited::slice_inputs;
use crate::error::Error;
use crate::job::Job;
use crate::lines::same;
use crate::means::Means;
use crate::record_sum::{Framing, RecordSum};
use crate::summary::Summary;
use std::io::{BufRead, BufReader};
use std::path::Path;
use xsort_extsort::keyed::{ByKey, RECORD_END};
use xsort_extsort::variable::{LineOrder, LinesInput};
use xsort_records::Checksum;
use xsort_table::KeyedRows;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

impl Tables {
    pub(super) fn verify_outputs(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let mut parts: Vec<&Summary> = summaries.iter().collect();
        parts.sort_by_key(|summary| summary.part);
        let mut outputs = RecordSum::new(Framing::End(RECORD_END));
        let mut before: Option<Vec<u8>> = None;
        for Summary { part, output, .. } in &parts {
            let input = LinesInput::on(&means.disk, Path::new(output))?;
            let mut number = 0;
            self.each(job, vec![input], 0, means, |row| {
                number += 1;
                outputs.add(row);
                let row = &row[..row.len() - 1];
                let last = before.get_or_insert_with(|| row.to_vec());
                if ByKey.compare(last, row, &mut ()).is_gt() {
                    let what = format!("row {number} of part {part} is out of order");
                    return Err(Error::Invalid(what));
                }
                last.clear();
                last.extend_from_slice(row);
                Ok(())
            })?;
        }
        same("outputs", outputs.checksum(), validated)?;
        let mut inputs = RecordSum::new(Framing::End(RECORD_END));
        for slice in &job.slices {
            let (opened, taken_bytes) = slice_inputs(slice, means)?;
            self.each(job, opened, taken_bytes, means, |row| {
                inputs.add(row);
                Ok(())
            })?;
        }
        same("inputs", inputs.checksum(), validated)
    }

    /// Passes each row of these inputs to `take`, behind its key.
    fn each(
        &self,
        job: &Job,
        inputs: Vec<LinesInput>,
        taken_bytes: u64,
        means: &Means<'_>,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let place = (taken_bytes, Path::new("."));
        let KeyedRows { inputs, .. } = self.keyed(job, inputs, place, means)?;
        let mut row = Vec::new();
        for input in inputs {
            let path = input.path.clone();
            let mut rows = BufReader::with_capacity(BUFFER_BYTES, input.into_bytes());
            loop {
                row.clear();
                let read = rows.read_until(RECORD_END, &mut row);
                if read.map_err(|error| xsort_disk::Error::of_read(&path, error))? == 0 {
                    break;
                }
                if means.observer.is_cancelled() {
                    return Err(xsort_extsort::Error::Cancelled.into());
                }
                take(&row)?;
            }
        }
        Ok(())
    }
}
