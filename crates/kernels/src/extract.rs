//! One pass over the records that extracts key words. It also finds the prefix that all keys share,
//! and whether the keys are already in order.
//!
//! Reading keys from 100-byte records is bound by memory (8 ns a record), so each pass collects as
//! much as it can. A sample predicts the shared prefix, so that one pass is usually enough. The
//! pass decides nothing: `sort` does.

use crate::prefetch;
use xsort_records::Key;

/// Number of records sampled to guess the shared prefix. A wrong guess costs one more pass.
const SAMPLE_RECORDS: usize = 64;

/// How far ahead of the pass records are prefetched, in bytes: a page, at whose end the hardware's
/// prefetchers stop. A whole sort of 1.3 million records of 100 bytes takes 15.2 ns a record
/// instead of 17.5. An eighth of a page gains a tenth of that, half a page two thirds, and two or
/// four pages gain the same (2-core Xeon under other load, 2026-11-21).
const AHEAD_BYTES: usize = 4096;

/// Statistics of the words that a pass extracted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordStats {
    /// Bits in which at least one word differs from the first.
    pub(crate) differ: u64,
    /// True if the words never decrease.
    pub(crate) ascending: bool,
    /// True if every word is less than the preceding one.
    pub(crate) descending: bool,
}

/// Collects the statistics of words, one word after another.
struct WordScan {
    first: u64,
    last: u64,
    differ: u64,
    ascending: bool,
    descending: bool,
}

impl WordScan {
    #[inline(always)]
    fn new(first: u64) -> Self {
        WordScan { first, last: first, differ: 0, ascending: true, descending: true }
    }

    #[inline(always)]
    fn add(&mut self, word: u64) {
        self.differ |= word ^ self.first;
        self.ascending &= self.last <= word;
        self.descending &= self.last > word;
        self.last = word;
    }

    #[inline(always)]
    fn stats(&self) -> WordStats {
        WordStats { differ: self.differ, ascending: self.ascending, descending: self.descending }
    }
}

/// Length in bytes of the normalised-key prefix that all records share (`key.bytes()` if all keys
/// are equal or there is at most one record). `records` holds whole records of `record_bytes`
/// bytes.
///
/// This is one pass, which stops as soon as nothing is shared. For a sorted sequence,
/// [`shared_prefix`](crate::shared_prefix) of the first and last key gives the same number without
/// a pass.
pub fn common_prefix<K: Key>(key: K, records: &[u8], record_bytes: usize) -> usize {
    assert!(record_bytes > 0 && records.len().is_multiple_of(record_bytes), "whole records");
    let mut rest = records.chunks_exact(record_bytes);
    let Some(first) = rest.next() else { return key.bytes() };
    shared(key, first, rest, 0)
}

/// Length in bytes of the key prefix that `first` shares with all of `others`. The first `from`
/// bytes are known to be shared.
pub(crate) fn shared<'a, K: Key>(
    key: K,
    first: &'a [u8],
    others: impl Iterator<Item = &'a [u8]>,
    from: usize,
) -> usize {
    let mut shared = key.bytes();
    for other in others {
        if shared <= from {
            return from.min(key.bytes());
        }
        let mut at = from;
        while at < shared {
            let differ = key.word(first, at) ^ key.word(other, at);
            if differ != 0 {
                shared = shared.min(at + differ.leading_zeros() as usize / 8);
                break;
            }
            at += 8;
        }
    }
    shared
}

/// Guesses the length of the shared prefix in bytes, from a few records spread over all. The guess
/// is never too short.
pub(crate) fn guess_prefix<K: Key>(key: K, records: &[u8], record_bytes: usize) -> usize {
    let stride = (records.len() / record_bytes / SAMPLE_RECORDS).max(1);
    let mut sample = records.chunks_exact(record_bytes).step_by(stride);
    let Some(first) = sample.next() else { return key.bytes() };
    shared(key, first, sample, 0)
}

/// Extracts the words at byte `at` of all keys, in order. Returns `None` if the records do not
/// share the first `at` bytes.
pub(crate) fn words<K: Key>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    at: usize,
    words: &mut [u64],
) -> Option<WordStats> {
    let first = &records[..record_bytes];
    let mut scan = WordScan::new(key.word(first, at));
    scan.descending = words.len() > 1;
    let mut differ_before = 0;
    if let Some((first_word, others)) = words.split_first_mut() {
        *first_word = scan.first;
        for (word, record) in
            others.iter_mut().zip(records[record_bytes..].chunks_exact(record_bytes))
        {
            prefetch::line(record.as_ptr().wrapping_add(AHEAD_BYTES + at));
            *word = key.word(record, at);
            scan.add(*word);
            if at > 0 {
                differ_before |= prefix_differs(key, first, record, at);
            }
        }
    }
    (differ_before == 0).then(|| scan.stats())
}

/// Nonzero if the first `at` key bytes of the two records differ.
#[inline(always)]
fn prefix_differs<K: Key>(key: K, first: &[u8], record: &[u8], at: usize) -> u64 {
    let mut differ = 0;
    let mut from = 0;
    while from + 8 <= at {
        differ |= key.word(first, from) ^ key.word(record, from);
        from += 8;
    }
    if from < at {
        differ |= (key.word(first, from) ^ key.word(record, from)) >> (64 - 8 * (at - from));
    }
    differ
}

/// Extracts the words at byte `at` of the keys of the records in `order`.
pub(crate) fn words_by_index<K: Key>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    order: &[u64],
    at: usize,
    words: &mut [u64],
) -> WordStats {
    /// Number of records prefetched ahead: the access is random.
    const AHEAD: usize = 16;
    let record = |index: u64| {
        let start = index as usize * record_bytes;
        &records[start..start + record_bytes]
    };
    let mut scan = WordScan::new(key.word(record(order[0]), at));
    scan.descending = false;
    for (place, (word, &index)) in words.iter_mut().zip(order).enumerate() {
        if let Some(&later) = order.get(place + AHEAD) {
            prefetch::line(records.as_ptr().wrapping_add(later as usize * record_bytes + at));
        }
        *word = key.word(record(index), at);
        scan.add(*word);
    }
    scan.stats()
}
