//! The order of records, as kernels use it.

use std::cmp::Ordering;

/// A rule that orders fixed-size records.
///
/// Every rule is equivalent to comparing *normalised keys*: strings of `bytes()` bytes, compared as
/// unsigned bytes. Kernels read the normalised key eight bytes at a time (`word`) and never need
/// its type. Methods are called for each element in hot loops, so implementations are small, `Copy`
/// and inlined.
pub trait Key: Copy + Send + Sync {
    /// Length of the normalised key in bytes; equal for all records.
    fn bytes(&self) -> usize;

    /// The eight bytes of the normalised key of `record` from offset `at` on, as a big-endian
    /// number. Bytes past the end of the key are zero; `at` may be at or past the end.
    fn word(&self, record: &[u8], at: usize) -> u64;

    /// Compares two records by their whole keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// Compares a record's key with a normalised key of `bytes()` bytes.
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering;

    /// Writes the normalised key of `record` to `out`, which is `bytes()` long.
    fn encode(&self, record: &[u8], out: &mut [u8]);
}
