//! A key that is a range of bytes in its record, compared as unsigned bytes from the first to the
//! last.
//!
//! This is the common case (gensort, database pages, any big-endian unsigned integer) and the fast
//! one. The normalised key is the record's own bytes, so a word is one unaligned load and a byte
//! swap.

use std::cmp::Ordering;

use crate::Key;

/// A key of `length` bytes at `offset` of the record, ascending, compared as unsigned bytes.
///
/// Records must hold at least `offset + length` bytes; methods panic on shorter ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainKey {
    offset: usize,
    length: usize,
}

impl PlainKey {
    /// The key of `length` bytes (at least one) at `offset`, both in bytes.
    ///
    /// # Panics
    /// If `length` is zero or `offset + length` overflows.
    #[must_use]
    pub const fn new(offset: usize, length: usize) -> PlainKey {
        assert!(length > 0, "a key has at least one byte");
        assert!(offset.checked_add(length).is_some(), "the key's end is beyond any memory");
        PlainKey { offset, length }
    }

    /// Offset of the key in the record, in bytes.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Length of the key in bytes.
    #[inline]
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    #[inline]
    fn slice<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        &record[self.offset..self.offset + self.length]
    }
}

/// The eight bytes of `bytes` from `at` on as a big-endian number.
#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(*bytes[at..].first_chunk().expect("eight bytes of the key"))
}

/// The `count` (below eight) bytes of `bytes` that end before `end`, at the top of a big-endian
/// word.
///
/// Loading eight bytes that end at `end` costs one shift. This is impossible only within the first
/// eight bytes of a record. There, eight bytes from the first wanted one on are loaded, unless the
/// whole record is shorter than a word.
#[inline]
fn load_short(bytes: &[u8], end: usize, count: usize) -> u64 {
    debug_assert!(count < 8 && count <= end);
    if count == 0 {
        return 0;
    }
    let unwanted_bits = 64 - 8 * count as u32;
    if end >= 8 {
        load(bytes, end - 8) << unwanted_bits
    } else if let Some(chunk) = bytes[end - count..].first_chunk() {
        u64::from_be_bytes(*chunk) >> unwanted_bits << unwanted_bits
    } else {
        load_bytes(&bytes[end - count..end])
    }
}

/// [`load_short`] byte by byte, for records shorter than a word.
#[cold]
fn load_bytes(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(word)
}

/// The word from `at` on of the key that is `bytes[offset..offset + length]`, zero past its end.
#[inline]
pub(crate) fn word_of(bytes: &[u8], offset: usize, length: usize, at: usize) -> u64 {
    let left = length.saturating_sub(at);
    if left >= 8 { load(bytes, offset + at) } else { load_short(bytes, offset + length, left) }
}

impl Key for PlainKey {
    #[inline]
    fn bytes(&self) -> usize {
        self.length
    }

    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        word_of(record, self.offset, self.length, at)
    }

    /// Compares the first word, which nearly always decides, without calling `memcmp`; then the
    /// rest.
    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let first = self.word(a, 0).cmp(&self.word(b, 0));
        if first != Ordering::Equal || self.length <= 8 {
            return first;
        }
        self.slice(a)[8..].cmp(&self.slice(b)[8..])
    }

    #[inline]
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        debug_assert_eq!(encoded.len(), self.length);
        let first = self.word(record, 0).cmp(&word_of(encoded, 0, self.length, 0));
        if first != Ordering::Equal || self.length <= 8 {
            return first;
        }
        self.slice(record)[8..].cmp(&encoded[8..self.length])
    }

    #[inline]
    fn encode(&self, record: &[u8], out: &mut [u8]) {
        out.copy_from_slice(self.slice(record));
    }
}
