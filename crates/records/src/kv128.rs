//! Records of 128 bytes with a key of 16 bytes. Published measurements of scatter-and-gather sorts
//! use this format.
//!
//! ```text
//! byte   0              16             32                            128
//!        | key, u128 LE | n, u128 LE   | random words                |
//! ```
//!
//! The record's number is in the payload, so a sorted file shows its records' original positions.

use crate::mix::{Source, Words};

pub(crate) const RECORD_BYTES: usize = 128;

/// Fills `out` with the records from number `first` on.
pub(crate) fn fill(source: Source, first: u128, out: &mut [u8]) {
    let (records, rest) = out.as_chunks_mut::<RECORD_BYTES>();
    debug_assert!(rest.is_empty());
    for (record, n) in records.iter_mut().zip(first..) {
        let mut words = source.words(n);
        let (wide, _) = record.as_chunks_mut::<16>();
        wide[0] = words.step_wide().to_le_bytes();
        wide[1] = n.to_le_bytes();
        for bytes in &mut wide[2..] {
            *bytes = words.step_wide().to_le_bytes();
        }
    }
}

/// Writes a key with `position` of 2^64 in its upper half; the lower half is unchanged.
#[inline]
pub(crate) fn put_position(record: &mut [u8; RECORD_BYTES], position: u64) {
    record[8..16].copy_from_slice(&position.to_le_bytes());
}

/// Writes a random key.
#[inline]
pub(crate) fn put_random(record: &mut [u8; RECORD_BYTES], mut words: Words) {
    record[..16].copy_from_slice(&words.step_wide().to_le_bytes());
}

/// True if the bytes begin with a record written by [`fill`], with any number, seed and key: its
/// random words follow from one another.
pub(crate) fn is_own(bytes: &[u8]) -> bool {
    let Some(record) = bytes.first_chunk::<RECORD_BYTES>() else { return false };
    let (wide, _) = record.as_chunks::<16>();
    let random = wide[2..].iter().map(|bytes| u128::from_le_bytes(*bytes));
    let mut words = Words::after((u128::from_le_bytes(wide[2]) >> 64) as u64);
    let low = words.step();
    random.clone().next().is_some_and(|first| first as u64 == low)
        && random.skip(1).all(|number| number == words.step_wide())
}
