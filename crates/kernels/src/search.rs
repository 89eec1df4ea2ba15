//! Binary search in one sorted sequence, and the common prefix of two keys, for cutting a merge at
//! exact positions.
//!
//! This is plain binary search on whole keys. Cuts happen a few times a second, so nothing here is
//! tuned.

use std::cmp::Ordering;
use xsort_records::Key;

/// The number of records at the front of the sorted `block` (whole records) whose key is less than
/// the normalised key `encoded`, or less or equal if `include_equal`.
pub fn bound_in_block<K: Key>(
    key: K,
    block: &[u8],
    record_bytes: usize,
    encoded: &[u8],
    include_equal: bool,
) -> usize {
    assert!(record_bytes > 0 && block.len().is_multiple_of(record_bytes), "whole records");
    bound(block.len() / record_bytes, |place| {
        let record = &block[place * record_bytes..][..record_bytes];
        is_before(key.compare_encoded(record, encoded), include_equal)
    })
}

/// The number of leading elements of `order` whose record's key is less than `encoded`, or less or
/// equal if `include_equal`. `order` sorts `records`.
pub fn bound_in_order<K: Key>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    order: &[u64],
    encoded: &[u8],
    include_equal: bool,
) -> usize {
    bound(order.len(), |place| {
        let record = &records[order[place] as usize * record_bytes..][..record_bytes];
        is_before(key.compare_encoded(record, encoded), include_equal)
    })
}

/// Length in bytes of the common prefix of two normalised keys.
pub fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn is_before(order: Ordering, include_equal: bool) -> bool {
    order == Ordering::Less || include_equal && order == Ordering::Equal
}

/// The number of leading places, of `count`, for which `before` is true. It must be true for a
/// prefix of the places only.
fn bound(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
