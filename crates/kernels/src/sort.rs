//! Sorting a chunk by (key bits, index) pairs, without moving its records.
//!
//! Sorting pairs of eight bytes instead of records of a hundred is AlphaSort's observation (Nyberg
//! et al., SIGMOD 1994). The index in the low bits makes any sort of the pairs stable. The pairs
//! are first partitioned into cache-sized buckets, as in IPS4o and in the 2010 message about GNU
//! sort. The phases:
//!
//! 1. `extract`: one pass over the records extracts eight key bytes each, after the shared prefix;
//! 2. `partition`: one pass forms buckets that fit the first-level cache, and drops some bits from
//!    the pairs; data that fits the second level is one bucket;
//! 3. `words`: each bucket is sorted;
//! 4. `ties`: groups with equal key bits are sorted by their next key bytes.
//!
//! Payloads don't move here; see `gather`.

use crate::caches::Caches;
use crate::{extract, partition, ties, words};
use xsort_records::Key;

/// Sorts stably without moving records: on return `order[i]` is the index of the record at place
/// `i`.
///
/// `records` holds `order.len()` records of `record_bytes` bytes. The caller lends `order` and
/// `scratch`, with one word for each record (`scratch` may be longer). Their content on entry is
/// ignored. `caches` sets the size of buckets and affects only the time.
///
/// # Panics
/// If the lengths don't match each other, from 2^32 records on, or if the key has 2^31 bytes or
/// more.
pub fn sort<K: Key>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    order: &mut [u64],
    scratch: &mut [u64],
    caches: Caches,
) {
    let count = order.len();
    assert!(record_bytes > 0 && records.len() == count * record_bytes, "one order word a record");
    assert!((count as u64) < 1 << 32, "fewer than 2^32 records in one sort");
    assert!(key.bytes() <= ties::KEY_BYTES_MAX, "keys are shorter than 2^31 bytes");
    let scratch = &mut scratch[..count];
    if count < 2 {
        order.fill(0);
        return;
    }
    let Some((at, stats)) = extract_words(key, records, record_bytes, scratch) else {
        identity(order);
        return;
    };
    if stats.descending {
        for (place, element) in order.iter_mut().rev().enumerate() {
            *element = place as u64;
        }
        return;
    }
    let index_bits = (count as u64 - 1).ilog2() + 1;
    let ties = ties::TieBreaker { key, records, record_bytes, index_bits, caches };
    let skip = stats.differ.leading_zeros();
    if stats.ascending || caches.hold(size_of_val(order)) {
        let low = (1_u64 << index_bits) - 1;
        for (index, (element, &word)) in order.iter_mut().zip(&*scratch).enumerate() {
            *element = (word << skip) & !low | index as u64;
        }
        if !stats.ascending {
            words::sort(order, scratch, caches);
        }
        let next = at + (skip + 64 - index_bits).min(64) as usize / 8;
        if ties::mark_ties(order, index_bits, next, key.bytes()) {
            ties.resolve(order, scratch);
        }
        return;
    }
    let digit_bits = partition::digit_bits(count, caches);
    let ends = partition::partition(scratch, skip, digit_bits, index_bits, order);
    let next = at + (skip + digit_bits + 64 - index_bits).min(64) as usize / 8;
    let mut start = 0;
    for &end in &ends[..1 << digit_bits] {
        let end = end as usize;
        // Every bucket borrows the same few KiB, which stay in the cache. With separate scratch for
        // each bucket, this phase would take 15 ns a record instead of 10.
        let (bucket, scratch) = (&mut order[start..end], &mut scratch[..end - start]);
        start = end;
        words::sort(bucket, scratch, caches);
        if ties::mark_ties(bucket, index_bits, next, key.bytes()) {
            ties.resolve(bucket, scratch);
        }
    }
}

/// Extracts the words after the shared prefix. Returns that offset, and the pass's statistics.
/// `None` if all keys are equal.
fn extract_words<K: Key>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    words: &mut [u64],
) -> Option<(usize, extract::WordStats)> {
    let mut at = extract::guess_prefix(key, records, record_bytes);
    if at < key.bytes()
        && let Some(stats) = extract::words(key, records, record_bytes, at, words)
        && stats.differ.leading_zeros() < 8
    {
        return Some((at, stats));
    }
    // The guess was wrong: some records don't share that prefix.
    at = extract::common_prefix(key, records, record_bytes);
    if at >= key.bytes() {
        return None;
    }
    // Only an inconsistent key has no words here.
    extract::words(key, records, record_bytes, at, words)
        .map(|stats| (at, stats))
        .filter(|(_, stats)| stats.differ != 0)
}

fn identity(order: &mut [u64]) {
    for (place, element) in order.iter_mut().enumerate() {
        *element = place as u64;
    }
}
