//! Counts and sums the ranges of sorted data between its cuts. The data is read once, from its
//! beginning to its end.

use crate::error::Error;
use crate::manifest::PartRange;
use crate::means::Means;
use crate::record_sum::{Framing, RecordSum};
use std::fs;
use std::io::Read;
use std::path::Path;
use xsort_disk::Operation;
use xsort_extsort::lines::RangeRead;
use xsort_records::Checksum;

/// Number of blocks with which the data is read, and the size of each in bytes.
const BLOCKS: (usize, usize) = (4, 1 << 20);

/// The ranges of sorted data.
pub(crate) struct Ranges {
    pub(crate) ranges: Vec<PartRange>,
    /// Count and sum of all records.
    pub(crate) checksum: Checksum,
    /// The sum of their hashes as the engine of lines computes them.
    pub(crate) hash: u64,
}

/// Returns the ranges of `parts` parts between cuts at these ascending offsets. If there are fewer
/// cuts than `parts - 1`, the last parts have no records.
///
/// # Errors
/// If the data can't be read, or a cut isn't where a record begins.
pub(crate) fn sum_ranges(
    data: &Path,
    framing: Framing,
    cuts: &[u64],
    parts: usize,
    means: &Means<'_>,
) -> Result<Ranges, Error> {
    let inspect = |error| xsort_disk::Error::new(Operation::Inspect, data, error);
    let bytes = fs::metadata(data).map_err(inspect)?.len();
    let mut read = RangeRead::open(&means.job.disk, data, (0, bytes), BLOCKS)?;
    let step = match framing {
        Framing::Size(size) => (BLOCKS.1 / size).max(1) * size,
        Framing::End(_) => BLOCKS.1,
    };
    let mut memory = vec![0; step];
    let mut all = Ranges { ranges: Vec::new(), checksum: Checksum::default(), hash: 0 };
    let mut offset = 0;
    means.observer.phase("cut", bytes);
    for part in 0..parts {
        let is_last = part + 1 == parts;
        let end = if is_last { bytes } else { cuts.get(part).copied().unwrap_or(bytes) };
        let mut sum = RecordSum::new(framing);
        let mut at = offset;
        while at < end {
            if means.observer.is_cancelled() {
                return Err(xsort_extsort::Error::Cancelled.into());
            }
            let some = (end - at).min(step as u64) as usize;
            let some = &mut memory[..some];
            read.read_exact(some).map_err(|error| xsort_disk::Error::of_read(data, error))?;
            sum.add(some);
            at += some.len() as u64;
            means.observer.advance(some.len() as u64);
        }
        if !sum.is_whole() {
            let what = format!("{}: no record ends at byte {end}", data.display());
            return Err(xsort_extsort::Error::Lost { what }.into());
        }
        let checksum = sum.checksum();
        let (records, crcs) = (checksum.records(), checksum.sum());
        all.ranges.push(PartRange { offset, bytes: end - offset, records, sum: crcs });
        all.checksum.merge(checksum);
        all.hash = all.hash.wrapping_add(sum.hash());
        offset = end;
    }
    Ok(all)
}
