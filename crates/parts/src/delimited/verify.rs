//! Reads outputs and inputs again, and checks the order, count and checksum of their records.

use super::slice_inputs;
use crate::error::Error;
use crate::job::Job;
use crate::means::Means;
use crate::record_sum::{Framing, RecordSum};
use crate::summary::Summary;
use crate::validate::{check_part, check_read};
use std::cmp::Ordering;
use std::io::{BufRead, BufReader};
use std::path::Path;
use xsort_extsort::Reservation;
use xsort_extsort::lines::LinesInput;
use xsort_records::Checksum;

/// Number of bytes per read.
const BUFFER_BYTES: usize = 1 << 20;

/// How records are read again.
pub(crate) struct Reading<C, R> {
    /// The word for a record in errors.
    pub(crate) record: &'static str,
    /// The byte that ends each record.
    pub(crate) end: u8,
    /// Compares two records without the bytes that end them.
    pub(crate) compare: C,
    /// Returns the records of inputs, whose decompression takes the given bytes of the budget.
    pub(crate) records_of: R,
}

/// Reads all outputs, which must be in order, and all inputs. Both must have the checksum of the
/// merged records.
pub(crate) fn verify_records<C, R>(
    reading: Reading<C, R>,
    job: &Job,
    summaries: &[Summary],
    validated: Checksum,
    means: &Means<'_>,
) -> Result<(), Error>
where
    C: FnMut(&[u8], &[u8]) -> Ordering,
    R: Fn(Vec<LinesInput>, Reservation) -> Result<Vec<LinesInput>, Error>,
{
    let Reading { record: name, end, mut compare, records_of } = reading;
    let mut outputs = Checksum::default();
    let mut last: Option<Vec<u8>> = None;
    for summary in Summary::in_order(summaries) {
        let Summary { part, output, .. } = summary;
        let mut sum = RecordSum::new(Framing::End(end));
        let input = LinesInput::on(&means.job.disk, Path::new(output))?;
        let mut number = 0;
        each(records_of(vec![input], Reservation::default())?, end, means, |record| {
            number += 1;
            sum.add(record);
            let record = &record[..record.len() - 1];
            let last = last.get_or_insert_with(|| record.to_vec());
            if compare(last, record).is_gt() {
                let what = format!("{name} {number} of part {part} is out of order");
                return Err(Error::Invalid(what));
            }
            last.clear();
            last.extend_from_slice(record);
            Ok(())
        })?;
        check_part(summary, sum.checksum())?;
        outputs.merge(sum.checksum());
    }
    check_read("outputs", outputs, validated)?;
    let mut inputs = RecordSum::new(Framing::End(end));
    for slice in &job.slices {
        let (opened, reservation) = slice_inputs(slice, means)?;
        each(records_of(opened, reservation)?, end, means, |record| {
            inputs.add(record);
            Ok(())
        })?;
    }
    check_read("inputs", inputs.checksum(), validated)
}

/// Passes each record to `take`, including the byte that ends it. Adds this byte if the last record
/// of an input lacks it.
fn each(
    inputs: Vec<LinesInput>,
    end: u8,
    means: &Means<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut record = Vec::new();
    for input in inputs {
        let path = input.path.clone();
        let mut records = BufReader::with_capacity(BUFFER_BYTES, input.into_bytes());
        loop {
            record.clear();
            let read = records.read_until(end, &mut record);
            if read.map_err(|error| xsort_disk::Error::of_read(&path, error))? == 0 {
                break;
            }
            if means.observer.is_cancelled() {
                return Err(xsort_extsort::Error::Cancelled.into());
            }
            if record.last() != Some(&end) {
                record.push(end);
            }
            take(&record)?;
        }
    }
    Ok(())
}
