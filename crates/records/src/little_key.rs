//! A key that is one unsigned little-endian integer, such as the 16-byte key of the `kv128` format.
//!
//! Its normalised key is the integer written big-endian; a word is one or two unaligned loads and shifts.

use std::cmp::Ordering;

use crate::Key;
use crate::key_field::{Endian, Integer};

/// One ascending unsigned little-endian integer of 1, 2, 4, 8 or 16 bytes at `offset` of the record.
///
/// Records must hold at least `offset + width` bytes; methods panic on shorter ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LittleKey {
    offset: usize,
    integer: Integer,
}

impl LittleKey {
    /// The integer of `width` bytes at `offset`, both in bytes.
    ///
    /// # Panics
    /// If `width` is not 1, 2, 4, 8 or 16, or `offset + width` overflows.
    #[must_use]
    pub const fn new(offset: usize, width: usize) -> LittleKey {
        assert!(offset.checked_add(width).is_some(), "the key's end is beyond any memory");
        match Integer::of_width(width, Endian::Little) {
            Some(integer) => LittleKey { offset, integer },
            None => panic!("an integer has 1, 2, 4, 8 or 16 bytes"),
        }
    }

    /// Where the integer begins in the record, in bytes.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The integer's length in bytes: 1, 2, 4, 8 or 16.
    #[inline]
    #[must_use]
    pub const fn width(&self) -> usize {
        self.integer.width()
    }

    #[inline]
    fn value(&self, record: &[u8]) -> u128 {
        self.integer.read(record, self.offset)
    }
}

impl Key for LittleKey {
    #[inline]
    fn bytes(&self) -> usize {
        self.width()
    }

    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        self.integer.word(self.value(record), at)
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.value(a).cmp(&self.value(b))
    }

    #[inline]
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        debug_assert_eq!(encoded.len(), self.width());
        self.value(record).cmp(&self.integer.with_endian(Endian::Big).read(encoded, 0))
    }

    #[inline]
    fn encode(&self, record: &[u8], out: &mut [u8]) {
        self.integer.write_big(self.value(record), out);
    }
}
