//! A key that is one unsigned little-endian integer, such as the 16-byte key of the `kv128` format.
//!
//! Its normalised key is the integer in big-endian order. A word is one unaligned load and shifts,
//! or two loads for 16 bytes.

use std::cmp::Ordering;

use crate::Key;
use crate::plain_key::word_of;

/// One ascending unsigned little-endian integer of 1, 2, 4, 8 or 16 bytes at `offset` of the
/// record.
///
/// Records must hold at least `offset + width` bytes; methods panic on shorter ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LittleKey {
    offset: usize,
    width: usize,
}

impl LittleKey {
    /// The key of `width` bytes at `offset`, both in bytes.
    ///
    /// # Panics
    /// If `width` is not 1, 2, 4, 8 or 16, or if `offset + width` overflows.
    #[must_use]
    pub const fn new(offset: usize, width: usize) -> LittleKey {
        assert!(matches!(width, 1 | 2 | 4 | 8 | 16), "an integer has 1, 2, 4, 8 or 16 bytes");
        assert!(offset.checked_add(width).is_some(), "the key's end is beyond any memory");
        LittleKey { offset, width }
    }

    /// Offset of the integer in the record, in bytes.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Length of the integer in bytes: 1, 2, 4, 8 or 16.
    #[inline]
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }
}

/// The little-endian integer of `length` (1 to 8) bytes at `offset`, in the upper bytes of the
/// word.
#[inline]
pub(crate) fn narrow(record: &[u8], offset: usize, length: usize) -> u64 {
    // The top bytes of a big-endian word are the integer in the bottom bytes of a little-endian
    // one.
    word_of(record, offset, length, 0).swap_bytes() << (64 - 8 * length)
}

/// The little-endian integer of 16 bytes at `offset`.
#[inline]
pub(crate) fn wide(record: &[u8], offset: usize) -> u128 {
    u128::from_le_bytes(*record[offset..].first_chunk().expect("sixteen bytes of the key"))
}

/// The eight bytes from `at` on of a number of 16 bytes, zero past its end.
#[inline]
pub(crate) fn word_of_wide(number: u128, at: usize) -> u64 {
    if at < 16 { (number << (8 * at) >> 64) as u64 } else { 0 }
}

impl Key for LittleKey {
    #[inline]
    fn bytes(&self) -> usize {
        self.width
    }

    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        if self.width == 16 {
            word_of_wide(wide(record, self.offset), at)
        } else if at < self.width {
            narrow(record, self.offset, self.width) << (8 * at)
        } else {
            0
        }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.width == 16 {
            wide(a, self.offset).cmp(&wide(b, self.offset))
        } else {
            narrow(a, self.offset, self.width).cmp(&narrow(b, self.offset, self.width))
        }
    }

    #[inline]
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        debug_assert_eq!(encoded.len(), self.width);
        if self.width == 16 {
            wide(record, self.offset).cmp(&wide(encoded, 0).swap_bytes())
        } else {
            narrow(record, self.offset, self.width).cmp(&word_of(encoded, 0, self.width, 0))
        }
    }

    #[inline]
    fn encode(&self, record: &[u8], out: &mut [u8]) {
        out.copy_from_slice(&record[self.offset..self.offset + self.width]);
        out.reverse();
    }
}
