//! Parts of a job that threads do side by side: when one is finished, and how far the output has no
//! gap.
//!
//! A part is made by a thread and then written by drives, whose completions come in any order, some
//! before the thread says how many there are to be.

use crate::store::output_prefix::OutputPrefix;
use crate::store::scratch::unit_of;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use xsort_disk::align_down;
use xsort_records::Checksum;

/// Parts that were made or written in part.
#[derive(Debug)]
pub(crate) struct Parts<T> {
    begun: HashMap<usize, Part<T>>,
}

#[derive(Debug)]
struct Part<T> {
    /// Writes that have completed.
    written: usize,
    /// How many there are, and what was made.
    made: Option<(usize, T)>,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Parts { begun: HashMap::new() }
    }
}

impl<T> Parts<T> {
    /// Takes in what was made of a part, for which so many writes were started; returns it if all
    /// of them have completed.
    pub(crate) fn made(&mut self, number: usize, writes: usize, made: T) -> Option<T> {
        self.part(number).made = Some((writes, made));
        self.finish(number)
    }

    /// Takes in the tag of a completed write; returns what was made of its part if that was the
    /// last.
    pub(crate) fn written(&mut self, tag: u64) -> Option<(usize, T)> {
        let number = unit_of(tag);
        self.part(number).written += 1;
        self.finish(number).map(|made| (number, made))
    }

    /// Whether there is nothing that was begun and isn't finished.
    pub(crate) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    fn part(&mut self, number: usize) -> &mut Part<T> {
        self.begun.entry(number).or_insert(Part { written: 0, made: None })
    }

    fn finish(&mut self, number: usize) -> Option<T> {
        let is_finished = |part: &mut Part<T>| {
            let written = part.written;
            part.made.as_ref().is_some_and(|(writes, _)| *writes == written)
        };
        if !self.begun.get_mut(&number).is_some_and(is_finished) {
            return None;
        }
        self.begun.remove(&number)?.made.map(|(_, made)| made)
    }
}

/// How much of the output is written without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// Its bytes. First: the journal gives it to those who know nothing of the rest.
    pub(crate) prefix: OutputPrefix,
    /// What it was made of: blocks of the forecast, or loads of bins.
    pub(crate) sources: u64,
    /// Records, and the sum of their checksums.
    records: u64,
    sum: u128,
}

impl Written {
    /// The checksum of what is written.
    pub(crate) fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.records, self.sum)
    }
}

/// A part of the output.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// Sources of all parts up to this one's end.
    pub(crate) sources: u64,
    pub(crate) checksum: Checksum,
    /// CRC-32 of its bytes, if a journal is kept.
    pub(crate) crc: Option<u32>,
    /// Its bytes in the page in which it ends, if it doesn't end with a page.
    pub(crate) tail: Vec<u8>,
}

/// Puts parts of the output in their order.
#[derive(Debug)]
pub(crate) struct Frontier {
    record_bytes: u64,
    /// Of the whole output.
    output_bytes: u64,
    next: usize,
    waiting: BTreeMap<usize, Stretch>,
    written: Written,
}

impl Frontier {
    /// Begins with part number `next` behind what is written already.
    pub(crate) fn new(
        record_bytes: usize,
        output_bytes: u64,
        next: usize,
        written: Written,
    ) -> Frontier {
        let record_bytes = record_bytes as u64;
        Frontier { record_bytes, output_bytes, next, waiting: BTreeMap::new(), written }
    }

    /// Takes in a finished part; returns how much is written now, if that is more than before.
    pub(crate) fn add(&mut self, number: usize, stretch: Stretch) -> Option<&Written> {
        self.waiting.insert(number, stretch);
        let before = self.next;
        while let Some(stretch) = self.waiting.remove(&self.next) {
            let Written { prefix, sources, records, sum } = &mut self.written;
            let start = prefix.bytes;
            prefix.append(stretch.crc, stretch.checksum.records() * self.record_bytes);
            if align_down(prefix.bytes) > start {
                prefix.tail.clear();
            }
            prefix.tail.extend(stretch.tail);
            if prefix.bytes == self.output_bytes {
                // Its last page is written, too, as all that will ever be in it is there.
                prefix.tail.clear();
            }
            let mut checksum = Checksum::from_parts(*records, *sum);
            checksum.merge(stretch.checksum);
            (*records, *sum) = (checksum.records(), checksum.sum());
            *sources = stretch.sources;
            self.next += 1;
        }
        (self.next > before).then_some(&self.written)
    }

    /// What is written without a gap.
    pub(crate) fn into_written(self) -> Written {
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_disk::{ALIGNMENT, align_up};

    #[test]
    fn the_tail_is_what_the_last_page_has() {
        // Records of 100 bytes, so that no part ends with a page.
        let output: Vec<u8> = (0..100 * 1000u32).map(|byte| (byte % 251) as u8).collect();
        for parts in [vec![1000], vec![1; 1000], vec![3, 50, 1, 1, 200, 40, 41, 5, 600, 59]] {
            let mut frontier = Frontier::new(100, output.len() as u64, 7, Written::default());
            let mut start = 0;
            let mut stretches = Vec::new();
            for records in parts {
                let end = start + records * 100;
                let mut checksum = Checksum::default();
                checksum.add_records(&output[start..end], 100);
                let tail = output[start.max(align_down(end as u64) as usize)..end].to_vec();
                let crc = Some(crc32fast::hash(&output[start..end]));
                stretches.push((end, Stretch { sources: end as u64, checksum, crc, tail }));
                start = end;
            }
            // Pairs are finished in the wrong order.
            let count = stretches.len();
            let mut numbered: Vec<_> = stretches.into_iter().enumerate().collect();
            for pair in numbered.chunks_mut(2) {
                pair.reverse();
            }
            let mut checked = 0;
            for (number, (_, stretch)) in numbered {
                let Some(written) = frontier.add(number + 7, stretch) else { continue };
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
    fn a_part_is_finished_when_all_its_writes_are() {
        let mut parts = Parts::default();
        assert_eq!(parts.written(crate::store::scratch::write_tag(3, 1)), None);
        assert_eq!(parts.made(3, 2, 'a'), None);
        assert_eq!(parts.made(4, 0, 'b'), Some('b'));
        assert!(!parts.is_empty());
        assert_eq!(parts.written(crate::store::scratch::write_tag(3, 1)), Some((3, 'a')));
        assert!(parts.is_empty());
    }
}
