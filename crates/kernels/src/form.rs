//! Sorting a chunk by (key word, index) pairs, and moving its payloads once.

use xsort_records::Key;

/// Length in bytes of the normalised-key prefix that all records share (`key.bytes()` if all keys are equal or there is at most one record).
pub fn common_prefix<K: Key>(key: K, records: &[u8], record_bytes: usize) -> usize {
    let _ = (key, records, record_bytes);
    unimplemented!()
}

/// Sorts, stably, without moving records: on return `order[i]` is the index of the record that comes i-th.
///
/// `order` and `spare` are lent, one word a record each; what they hold on entry is ignored. At most 2^32 records.
pub fn sort<K: Key>(key: K, records: &[u8], record_bytes: usize, order: &mut [u64], spare: &mut [u64]) {
    let _ = (key, records, record_bytes, order, spare);
    unimplemented!()
}

/// Copies the records named by `order` to `out`, one after the other. `out` is `order.len() * record_bytes` long.
pub fn gather(records: &[u8], record_bytes: usize, order: &[u64], out: &mut [u8]) {
    let _ = (records, record_bytes, order, out);
    unimplemented!()
}
