//! The checksum of a whole object, from ranges that are read in any order.

use super::Expected;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The ranges of an object that were read so far: the end and checksum of each.
pub(crate) struct Coverage {
    expected: Expected,
    /// The length of the object.
    bytes: u64,
    ranges: Mutex<BTreeMap<u64, (u64, u64)>>,
}

impl Coverage {
    /// Starts with nothing read of an object of `bytes` bytes.
    pub(crate) fn new(expected: Expected, bytes: u64) -> Coverage {
        Coverage { expected, bytes, ranges: Mutex::default() }
    }

    /// Adds the bytes read at `offset`. They replace earlier ranges that lie completely within this
    /// one, because the data read last is used. Bytes shared with a range that goes beyond this
    /// one, such as a page at its end, are checked in the earlier range. Returns `false` if the
    /// object was read completely and doesn't match the store's checksum.
    pub(crate) fn add(&self, offset: u64, bytes: &[u8]) -> bool {
        let end = offset + bytes.len() as u64;
        loop {
            let (start, stop) = own_part(&self.ranges.lock(), offset, end);
            if start >= stop {
                break;
            }
            // Computed without the lock: other threads have ranges of their own.
            let new = &bytes[(start - offset) as usize..(stop - offset) as usize];
            let sum = self.expected.hash(new);
            let mut ranges = self.ranges.lock();
            // Another thread may have read a part of it in the meantime.
            if own_part(&ranges, offset, end) == (start, stop) {
                ranges.retain(|&from, &mut (to, _)| to <= start || from >= stop);
                self.insert(&mut ranges, start, stop, sum);
                break;
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

/// Returns a range without the parts that it shares, at its beginning or end, with ranges that go
/// beyond it.
fn own_part(ranges: &BTreeMap<u64, (u64, u64)>, start: u64, end: u64) -> (u64, u64) {
    let before = ranges.range(..start).next_back().map_or(start, |(_, &(to, _))| to.max(start));
    let last = ranges.range(start..end).next_back();
    let after = last.filter(|&(_, &(to, _))| to > end).map_or(end, |(&from, _)| from);
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_testing::Random;

    /// In any order, repeated, and overlapping: the last missing range decides.
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

    /// The beginning and samples are read first, and again later with their surroundings. The last
    /// read is used, so it is the one that is checked.
    #[test]
    fn what_is_read_again_is_checked_again() {
        let random = &mut Random::new(6);
        let bytes = random.bytes(10_000);
        let expected = Expected::Crc32(crc32fast::hash(&bytes));
        let mut damaged = bytes.clone();
        damaged[77] ^= 1;
        let looks: [&[(usize, usize)]; 4] =
            [&[(0, 100)], &[(0, 100), (100, 200), (4000, 4100)], &[(0, 10_000)], &[]];
        for looks in looks {
            for (second, is_good) in [(&bytes, true), (&damaged, false)] {
                let coverage = Coverage::new(expected, 10_000);
                for &(start, end) in looks {
                    assert!(coverage.add(start as u64, &bytes[start..end]));
                }
                assert!(coverage.add(6_000, &bytes[6_000..]));
                let is_whole_good = coverage.add(0, &second[..6_050]);
                // A range within a larger one that was read earlier isn't checked again.
                if looks != [(0, 10_000)] {
                    assert_eq!(is_whole_good, is_good, "{looks:?}");
                }
                assert_eq!(coverage.add(0, second), is_good, "{looks:?}");
            }
        }
    }
}
