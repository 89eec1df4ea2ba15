//! What is sorted: 100-byte records with a ten-byte key in front, made by xsort's own generator.

use xsort_records::{Format, GenerateSpec, Generator, Pattern, PlainKey};

/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 100;
/// Bytes of its key, at its front.
pub(crate) const KEY_BYTES: usize = 10;
/// The key as xsort's kernels take it.
pub(crate) const KEY: PlainKey = PlainKey::new(0, KEY_BYTES);

/// Records that fit a second-level cache, 800 KB.
pub(crate) const IN_CACHE: usize = 8_000;
/// Records that fit no cache, 134 MB.
pub(crate) const OUT_OF_CACHE: usize = 1_342_177;

/// Records to be sorted.
pub(crate) struct Input {
    /// One after the other.
    pub(crate) records: Vec<u8>,
}

impl Input {
    /// `count` records.
    #[must_use]
    pub(crate) fn new(format: Format, pattern: Pattern, count: usize) -> Input {
        let spec =
            GenerateSpec { format, skewed: false, pattern, start: 0, seed: 0, total: count as u64 };
        let mut records = vec![0; count * RECORD_BYTES];
        Generator::new(spec).expect("a format with keys of its own").fill(0, &mut records);
        Input { records }
    }

    /// The part of `self` that is `count` records from `first` on.
    #[must_use]
    pub(crate) fn part(&self, first: usize, count: usize) -> Input {
        Input { records: self.records[first * RECORD_BYTES..][..count * RECORD_BYTES].to_vec() }
    }

    /// How many there are.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.records.len() / RECORD_BYTES
    }

    /// All records, in their order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8; RECORD_BYTES]> {
        self.records.as_chunks().0.iter()
    }

    /// The record at `index`.
    #[must_use]
    pub(crate) fn record(&self, index: u64) -> &[u8; RECORD_BYTES] {
        &self.records.as_chunks().0[index as usize]
    }
}

/// The first eight bytes of the key, as a number.
#[inline]
#[must_use]
pub(crate) fn prefix(record: &[u8; RECORD_BYTES]) -> u64 {
    u64::from_be_bytes(*record.first_chunk().expect("a key"))
}

/// The whole key above 32 bits for an index or a run: a number whose order is complete and stable.
#[inline]
#[must_use]
pub(crate) fn rank(record: &[u8; RECORD_BYTES], index: u32) -> u128 {
    let tail = u16::from_be_bytes([record[8], record[9]]);
    u128::from(prefix(record)) << 48 | u128::from(tail) << 32 | u128::from(index)
}
