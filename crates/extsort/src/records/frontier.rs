//! The output's frontier, up to which it is written without a gap, while threads write ranges of it
//! in parallel.

use crate::Error;
use crate::store::output_prefix::OutputPrefix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xsort_disk::align_down;
use xsort_records::Checksum;

/// The part of the output that is written without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputProgress {
    /// The written bytes. This is the first field because [`crate::store::checkpoint`] reads it
    /// without the others.
    pub(crate) prefix: OutputPrefix,
    /// Number of sources used up: blocks of the forecast, or loads of bins.
    pub(crate) sources: u64,
    /// Number of records, and the sum of their checksums.
    records: u64,
    sum: u128,
}

impl OutputProgress {
    /// The checksum of the written records.
    pub(crate) fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.records, self.sum)
    }
}

/// A range of the output that is written.
#[derive(Debug)]
pub(crate) struct WrittenRange {
    /// Number of sources up to the range's end.
    pub(crate) sources: u64,
    pub(crate) checksum: Checksum,
    /// CRC-32 of the range's bytes, if the sort has a journal.
    pub(crate) crc: Option<u32>,
    /// The range's last bytes, if it ends inside a page: its bytes in that page.
    pub(crate) tail: Vec<u8>,
    /// The normalised keys of the first and last record; `None` if the range is empty.
    pub(crate) ends: Option<(Vec<u8>, Vec<u8>)>,
    /// True if no earlier record has a key in this range.
    pub(crate) has_own_keys: bool,
}

/// Tracks how far the output is written, while its ranges are finished in any order.
#[derive(Debug)]
pub(crate) struct OutputFrontier {
    record_bytes: u64,
    /// Size of the whole output in bytes.
    output_bytes: u64,
    /// The number of the range at the frontier.
    next: usize,
    waiting: BTreeMap<usize, WrittenRange>,
    written: OutputProgress,
    /// The normalised key of the last record that this process has added, if any.
    last_key: Option<Vec<u8>>,
}

impl OutputFrontier {
    /// Begins with range number `next`, after the part that is already `written`.
    pub(crate) fn new(
        record_bytes: usize,
        output_bytes: u64,
        next: usize,
        written: OutputProgress,
    ) -> OutputFrontier {
        let record_bytes = record_bytes as u64;
        let waiting = BTreeMap::new();
        OutputFrontier { record_bytes, output_bytes, next, waiting, written, last_key: None }
    }

    /// Adds a finished range. Returns the new progress if the frontier has moved.
    ///
    /// # Errors
    /// If ranges aren't in order. Each range is sorted, but the cuts between ranges were read from
    /// a journal, or may have been damaged in memory.
    pub(crate) fn add(
        &mut self,
        number: usize,
        range: WrittenRange,
    ) -> Result<Option<&OutputProgress>, Error> {
        self.waiting.insert(number, range);
        let before = self.next;
        while let Some(range) = self.waiting.remove(&self.next) {
            if let Some((first, last)) = range.ends {
                let is_behind =
                    |last: &Vec<u8>| first > *last || first == *last && !range.has_own_keys;
                if !self.last_key.as_ref().is_none_or(is_behind) {
                    let what = format!("the order of the output before its range {}", self.next);
                    return Err(Error::Lost { what });
                }
                self.last_key = Some(last);
            }
            let OutputProgress { prefix, sources, records, sum } = &mut self.written;
            let start = prefix.bytes;
            prefix.append(range.crc, range.checksum.records() * self.record_bytes);
            if align_down(prefix.bytes) > start {
                prefix.tail.clear();
            }
            prefix.tail.extend(range.tail);
            if prefix.bytes == self.output_bytes {
                // The last page is as full as it will ever be, and is written.
                prefix.tail.clear();
            }
            let mut checksum = Checksum::from_parts(*records, *sum);
            checksum.merge(range.checksum);
            (*records, *sum) = (checksum.records(), checksum.sum());
            *sources = range.sources;
            self.next += 1;
        }
        Ok((self.next > before).then_some(&self.written))
    }

    /// The progress up to the frontier.
    pub(crate) fn into_progress(self) -> OutputProgress {
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_disk::{ALIGNMENT, align_up};

    #[test]
    fn the_tail_is_what_the_last_page_has() {
        // Records of 100 bytes, so that no range ends with a page.
        let output: Vec<u8> = (0..100 * 1000u32).map(|byte| (byte % 251) as u8).collect();
        for ranges in [vec![1000], vec![1; 1000], vec![3, 50, 1, 1, 200, 40, 41, 5, 600, 59]] {
            let mut frontier =
                OutputFrontier::new(100, output.len() as u64, 7, OutputProgress::default());
            let mut start = 0;
            let mut finished = Vec::new();
            for records in ranges {
                let end = start + records * 100;
                let mut checksum = Checksum::default();
                checksum.add_records(&output[start..end], 100);
                let tail = output[start.max(align_down(end as u64) as usize)..end].to_vec();
                let crc = Some(crc32fast::hash(&output[start..end]));
                let sources = end as u64;
                let range =
                    WrittenRange { sources, checksum, crc, tail, ends: None, has_own_keys: false };
                finished.push((end, range));
                start = end;
            }
            // Pairs are finished in reverse order.
            let count = finished.len();
            let mut numbered: Vec<_> = finished.into_iter().enumerate().collect();
            for pair in numbered.chunks_mut(2) {
                pair.reverse();
            }
            let mut checked = 0;
            for (number, (_, range)) in numbered {
                let Some(written) = frontier.add(number + 7, range).unwrap() else { continue };
                let end = written.sources as usize;
                let page = align_down(end as u64) as usize;
                let is_whole = end == output.len();
                assert_eq!(written.prefix.tail, output[if is_whole { end } else { page }..end]);
                assert_eq!(written.prefix.bytes, end as u64);
                assert_eq!(written.prefix.crc, crc32fast::hash(&output[..end]));
                let mut checksum = Checksum::default();
                checksum.add_records(&output[..end], 100);
                assert_eq!(written.checksum(), checksum);
                assert!(align_up(end as u64) as usize - page <= ALIGNMENT);
                checked += 1;
            }
            assert!(checked >= count / 2);
            assert_eq!(frontier.written.sources, output.len() as u64);
        }
    }

    #[test]
    fn ranges_that_are_not_in_order_are_refused() {
        let range = |first: u8, last: u8| WrittenRange {
            sources: 0,
            checksum: Checksum::default(),
            crc: None,
            tail: Vec::new(),
            ends: Some((vec![first], vec![last])),
            has_own_keys: false,
        };
        let empty = || WrittenRange { ends: None, ..range(0, 0) };
        let ends = |second: WrittenRange, third: WrittenRange| {
            let mut frontier = OutputFrontier::new(1, 1000, 0, OutputProgress::default());
            let results = [(1, second), (0, range(3, 5)), (2, third)]
                .map(|(at, r)| frontier.add(at, r).is_ok());
            results == [true; 3]
        };
        assert!(ends(range(5, 6), range(6, 9)) && ends(empty(), range(5, 5)));
        assert!(!ends(range(4, 6), range(6, 9)) && !ends(empty(), range(4, 9)));
        let own = |first, last| WrittenRange { has_own_keys: true, ..range(first, last) };
        assert!(ends(own(6, 6), own(7, 9)) && !ends(own(5, 6), own(7, 9)));
    }
}
