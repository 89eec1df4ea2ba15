//! The checksum of a whole object, from ranges that are read in any order.

use super::Expected;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use xsort_disk::ALIGNMENT;

/// Size of a page in bytes: reads begin and end at page boundaries.
const PAGE_BYTES: u64 = ALIGNMENT as u64;

/// The ranges of an object that were read so far.
pub(crate) struct Coverage {
    expected: Expected,
    /// The length of the object.
    bytes: u64,
    /// For the start of each range: its end, and its checksum.
    ranges: Mutex<BTreeMap<u64, (u64, u64)>>,
    /// The checksums of the first and last pages of reads. Neighbouring reads may share such a
    /// page, but only one range's checksum includes it.
    pages: Mutex<BTreeMap<u64, u64>>,
}

impl Coverage {
    /// Starts with nothing read of an object of `bytes` bytes.
    pub(crate) fn new(expected: Expected, bytes: u64) -> Coverage {
        Coverage { expected, bytes, ranges: Mutex::default(), pages: Mutex::default() }
    }

    /// Adds the bytes read at `offset`. Replaces earlier ranges that lie completely inside this
    /// one, because callers use the last read. Where this range overlaps one that extends beyond
    /// it, the overlap counts in the earlier range. Compares the pages at the ends of reads with
    /// those of other reads.
    ///
    /// Returns `false` if such a page differs, or if the object is complete and its checksum isn't
    /// the store's. After a complete object, it starts again with nothing read.
    pub(crate) fn add(&self, offset: u64, bytes: &[u8]) -> bool {
        let end = offset + bytes.len() as u64;
        if !self.agrees_with_pages(offset, bytes) {
            return false;
        }
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
        let mut ranges = self.ranges.lock();
        match ranges.get(&0) {
            Some(&(end, sum)) if end == self.bytes => {
                ranges.clear();
                sum == self.expected.sum()
            }
            _ => true,
        }
    }

    /// Returns whether this read agrees with the others in all pages at which one of them begins or
    /// ends. Keeps the checksums of its own first and last page.
    fn agrees_with_pages(&self, offset: u64, bytes: &[u8]) -> bool {
        let end = offset + bytes.len() as u64;
        let sum = |page: &Range<u64>| {
            let (from, to) = ((page.start - offset) as usize, (page.end - offset) as usize);
            self.expected.hash(&bytes[from..to])
        };
        let page_at = |start: u64| start..self.bytes.min(start + PAGE_BYTES);
        let is_whole = |page: &Range<u64>| page.start >= offset && page.end <= end;
        let first = page_at(offset.next_multiple_of(PAGE_BYTES));
        // Only the last page of the object is shorter.
        let last = match end == self.bytes {
            true => page_at(end.saturating_sub(1) / PAGE_BYTES * PAGE_BYTES),
            false => page_at((end / PAGE_BYTES).saturating_sub(1) * PAGE_BYTES),
        };
        let ends = [first, last].into_iter().filter(|page| page.start < page.end && is_whole(page));
        // Computed without the lock.
        let ends: Vec<(u64, u64)> = ends.map(|page| (page.start, sum(&page))).collect();
        let mut pages = self.pages.lock();
        let known: Vec<(u64, u64)> =
            pages.range(offset..end).map(|(&at, &sum)| (at, sum)).collect();
        for (at, sum) in ends {
            pages.entry(at).or_insert(sum);
        }
        drop(pages);
        let mut inside = known.iter().map(|&(at, known)| (page_at(at), known));
        inside.all(|(page, known)| !is_whole(&page) || sum(&page) == known)
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

    /// Two reads share the page in which their ranges meet. Both copies are used, but only one is
    /// part of the object's checksum.
    #[test]
    fn a_page_that_two_reads_share_is_checked_in_both() {
        let bytes = Random::new(8).bytes(10_000);
        let expected = Expected::Crc32(crc32fast::hash(&bytes));
        let reads = [0..8192, 4096..10_000, 8192..10_000, 0..4096];
        for damaged in 0..4 {
            let places = [77, 4096, 5000, 8191, 8192, 9_999].into_iter();
            for at in places.filter(|at| reads[damaged].contains(at)) {
                for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 2, 3]] {
                    let coverage = Coverage::new(expected, 10_000);
                    let is_good = order.iter().all(|&number| {
                        let mut read = bytes[reads[number].clone()].to_vec();
                        if number == damaged {
                            read[at - reads[number].start] ^= 1;
                        }
                        coverage.add(reads[number].start as u64, &read)
                    });
                    assert!(!is_good, "{damaged} {at} {order:?}");
                }
            }
        }
        let coverage = Coverage::new(expected, 10_000);
        for read in reads {
            assert!(coverage.add(read.start as u64, &bytes[read]));
        }
    }

    /// The first look at an object, and samples, are read again as parts of larger ranges. The last
    /// read is the one that is used, so it must be checked.
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
                assert_eq!(is_whole_good, is_good, "{looks:?}");
                assert_eq!(coverage.add(0, second), is_good, "{looks:?}");
            }
        }
    }
}
