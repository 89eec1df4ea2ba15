//! The checksum of a whole object, from ranges that are read in any order.

use super::Expected;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What was read of an object so far: of each range its end and its checksum.
pub(crate) struct Coverage {
    expected: Expected,
    /// The length of the object.
    bytes: u64,
    ranges: Mutex<BTreeMap<u64, (u64, u64)>>,
}

impl Coverage {
    /// Nothing was read of an object of `bytes` bytes.
    pub(crate) fn new(expected: Expected, bytes: u64) -> Coverage {
        Coverage { expected, bytes, ranges: Mutex::default() }
    }

    /// Adds what was read at `offset`; what was read before counts once. Returns `false` if the
    /// object is read whole by that and is another one than the store's checksum says.
    pub(crate) fn add(&self, offset: u64, bytes: &[u8]) -> bool {
        let end = offset + bytes.len() as u64;
        loop {
            let gaps = gaps(&self.ranges.lock(), offset, end);
            let Some(&(start, stop)) = gaps.first() else { break };
            // Not under the lock: other threads have ranges of their own.
            let new = &bytes[(start - offset) as usize..(stop - offset) as usize];
            let sum = self.expected.hash(new);
            let mut ranges = self.ranges.lock();
            // Another thread may have read a part of it meanwhile.
            if is_gap(&ranges, start, stop) {
                self.insert(&mut ranges, start, stop, sum);
            }
        }
        match self.ranges.lock().get(&0) {
            Some((end, sum)) if *end == self.bytes => *sum == self.expected.sum(),
            _ => true,
        }
    }

    /// Adds a range, and joins it with its neighbours.
    fn insert(
        &self,
        ranges: &mut BTreeMap<u64, (u64, u64)>,
        mut start: u64,
        mut end: u64,
        mut sum: u64,
    ) {
        if let Some((&before, &(its_end, its_sum))) = ranges.range(..start).next_back()
            && its_end == start
        {
            ranges.remove(&before);
            sum = self.expected.combine(its_sum, sum, end - start);
            start = before;
        }
        if let Some((its_end, its_sum)) = ranges.remove(&end) {
            sum = self.expected.combine(sum, its_sum, its_end - end);
            end = its_end;
        }
        ranges.insert(start, (end, sum));
    }
}

/// The parts of a range that no range covers.
fn gaps(ranges: &BTreeMap<u64, (u64, u64)>, start: u64, end: u64) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut at = start;
    if let Some((_, &(before, _))) = ranges.range(..=start).next_back() {
        at = at.max(before);
    }
    for (&next, &(its_end, _)) in ranges.range(start..end) {
        if at < next {
            gaps.push((at, next));
        }
        at = at.max(its_end);
    }
    if at < end {
        gaps.push((at, end));
    }
    gaps
}

/// Whether nothing of a range is covered.
fn is_gap(ranges: &BTreeMap<u64, (u64, u64)>, start: u64, end: u64) -> bool {
    gaps(ranges, start, end) == [(start, end)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_testing::Random;

    /// In any order, again, and overlapping: the last range that was missing decides.
    #[test]
    fn ranges_in_any_order_make_up_the_whole() {
        let random = &mut Random::new(5);
        let bytes = random.bytes(10_000);
        let sums = [
            Expected::Crc32(crc32fast::hash(&bytes)),
            Expected::Crc32c(crc32c::crc32c(&bytes)),
            Expected::Crc64(super::super::crc64::hash(&bytes)),
        ];
        for round in 0..60 {
            let expected = sums[round % 3];
            let is_damaged = round % 2 == 1;
            let coverage = Coverage::new(expected, 10_000);
            let mut read = bytes.clone();
            read[random.below(10_000)] ^= u8::from(is_damaged);
            let mut is_read = vec![false; 10_000];
            loop {
                let start = random.below(10_000);
                let end = (start + 1 + random.below(3_000)).min(10_000);
                is_read[start..end].fill(true);
                let is_good = coverage.add(start as u64, &read[start..end]);
                if is_read.iter().all(|it| *it) {
                    assert_eq!(is_good, !is_damaged, "{expected:?}");
                    break;
                }
                assert!(is_good, "nothing is known before all is read");
            }
        }
    }
}
