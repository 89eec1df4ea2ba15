//! Reading outputs and inputs again: order, count and checksum of lines, one after the other.

use super::Lines;
use crate::delimited::slice_inputs;
use crate::error::Error;
use crate::job::Job;
use crate::means::Means;
use crate::record_sum::{Framing, RecordSum};
use crate::summary::Summary;
use std::io::{BufRead, BufReader};
use std::path::Path;
use xsort_extsort::variable::LinesInput;
use xsort_gnu::sort::Scratch;
use xsort_records::Checksum;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

impl Lines {
    pub(super) fn verify_outputs(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let mut parts: Vec<&Summary> = summaries.iter().collect();
        parts.sort_by_key(|summary| summary.part);
        let mut outputs = RecordSum::new(Framing::End(self.delimiter));
        let (mut before, mut scratch): (Option<Vec<u8>>, _) = (None, Scratch::default());
        for Summary { part, output, .. } in &parts {
            let input = LinesInput::on(&means.disk, Path::new(output))?;
            let mut number = 0;
            self.each(input, means, |line| {
                number += 1;
                outputs.add(line);
                let line = &line[..line.len() - 1];
                let last = before.get_or_insert_with(|| line.to_vec());
                if self.order.compare(last, line, &mut scratch).is_gt() {
                    let what = format!("line {number} of part {part} is out of order");
                    return Err(Error::Invalid(what));
                }
                last.clear();
                last.extend_from_slice(line);
                Ok(())
            })?;
        }
        same("outputs", outputs.checksum(), validated)?;
        let mut inputs = RecordSum::new(Framing::End(self.delimiter));
        for slice in &job.slices {
            for input in slice_inputs(slice, means)?.0 {
                self.each(input, means, |line| {
                    inputs.add(line);
                    Ok(())
                })?;
            }
        }
        same("inputs", inputs.checksum(), validated)
    }

    /// Passes each line of an input to `take`, with its end, which the last one may lack.
    fn each(
        &self,
        input: LinesInput,
        means: &Means<'_>,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let path = input.path.clone();
        let mut lines = BufReader::with_capacity(BUFFER_BYTES, input.into_bytes());
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = lines.read_until(self.delimiter, &mut line);
            if read.map_err(|error| xsort_disk::Error::of_read(&path, error))? == 0 {
                return Ok(());
            }
            if means.observer.is_cancelled() {
                return Err(xsort_extsort::Error::Cancelled.into());
            }
            if line.last() != Some(&self.delimiter) {
                line.push(self.delimiter);
            }
            take(&line)?;
        }
    }
}

/// Whether what was read is what was merged.
pub(crate) fn same(what: &str, found: Checksum, validated: Checksum) -> Result<(), Error> {
    match found == validated {
        true => Ok(()),
        false => Err(Error::Invalid(format!(
            "the {what} have {} records with checksum {found}, and the summaries {} with \
             {validated}",
            found.records(),
            validated.records()
        ))),
    }
}
