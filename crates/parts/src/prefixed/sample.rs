//! Samples the keys of evenly spaced records, by reading all records.

use super::Prefixed;
use crate::error::Error;
use crate::input_tag::check_unchanged;
use crate::job::Slice;
use crate::keyed::key_of;
use crate::means::Means;
use crate::sample::{SampledKey, SliceSample};
use std::io::{BufRead, BufReader};
use std::path::Path;
use xsort_extsort::Error::{Cancelled, Disk};
use xsort_extsort::keyed::RECORD_END;
use xsort_extsort::prefixed::of_records_read;

/// Number of bytes per read.
const BUFFER_BYTES: usize = 1 << 20;

impl Prefixed {
    pub(super) fn sample_slice(
        &self,
        slice: &Slice,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error> {
        for input in &slice.inputs {
            check_unchanged(&*means.job.disk, Path::new(&input.path), &input.tag)?;
        }
        let mut found = Vec::new();
        // One in `step` records is kept. The total number is not known in advance.
        let (mut records, mut step) = (0_u64, 1);
        let mut record = Vec::new();
        for input in self.keyed(slice, Path::new("."), means)?.inputs {
            let path = input.path.clone();
            let mut keyed = BufReader::with_capacity(BUFFER_BYTES, input.into_bytes());
            loop {
                record.clear();
                let read = keyed.read_until(RECORD_END, &mut record).map_err(|error| {
                    let error = Disk(xsort_disk::Error::of_read(&path, error));
                    of_records_read(error, means.observer)
                })?;
                if read == 0 {
                    break;
                }
                if records % step == 0 {
                    if means.observer.is_cancelled() {
                        return Err(Cancelled.into());
                    }
                    found.push((records, key_of(&record[..record.len() - 1])));
                }
                records += 1;
                if found.len() as u64 > 2 * keys.max(1) {
                    step *= 2;
                    found.retain(|(number, _)| number % step == 0);
                }
            }
        }
        let offset = |number: u64| {
            let bytes = u128::from(slice.bytes) * u128::from(number);
            (bytes / u128::from(records.max(1))) as u64
        };
        let keys =
            found.into_iter().map(|(number, key)| SampledKey { key, offset: offset(number) });
        Ok(SliceSample { slice: slice.index, bytes: slice.bytes, keys: keys.collect() })
    }
}
