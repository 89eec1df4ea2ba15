//! A line as a word of its key and its place.

use crate::words::Word;
use bytemuck::{Pod, Zeroable};

/// Bits of a line's length in its entry.
const LENGTH_BITS: u32 = 24;
/// The length of lines that are at least so long: where they end has to be looked up.
const LONG: u64 = (1 << LENGTH_BITS) - 1;

/// A line of a text.
///
/// ```text
///  word  | first eight bytes of its normalised key |
///  place | 40 bits: offset of the line in the text | 24 bits: its length in bytes, or all ones if that is too long |
/// ```
///
/// Entries are ordered by word, then by place: equal words keep the order of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct Entry {
    word: u64,
    place: u64,
}

impl Entry {
    /// Texts must be shorter than this.
    pub const TEXT_BYTES_MAX: usize = 1 << (64 - LENGTH_BITS);

    /// Of the line of `bytes` bytes at `offset`.
    #[inline(always)]
    pub fn new(word: u64, offset: usize, bytes: usize) -> Entry {
        debug_assert!(offset < Entry::TEXT_BYTES_MAX);
        Entry { word, place: (offset as u64) << LENGTH_BITS | (bytes as u64).min(LONG) }
    }

    /// The first eight bytes of its normalised key.
    #[inline(always)]
    pub fn word(self) -> u64 {
        self.word
    }

    /// The same line with another word.
    #[inline(always)]
    pub(crate) fn with_word(self, word: u64) -> Entry {
        Entry { word, ..self }
    }

    /// Where the line begins.
    #[inline(always)]
    pub fn offset(self) -> usize {
        (self.place >> LENGTH_BITS) as usize
    }

    /// Length of the line without its delimiter.
    #[inline(always)]
    pub fn bytes(self, text: &[u8], delimiter: u8) -> usize {
        let bytes = self.place & LONG;
        if bytes < LONG { bytes as usize } else { self.long_bytes(text, delimiter) }
    }

    /// What the entry itself tells of the line's length: less than it is, if that is long.
    #[inline(always)]
    pub(crate) fn told_bytes(self) -> usize {
        (self.place & LONG) as usize
    }

    #[cold]
    fn long_bytes(self, text: &[u8], delimiter: u8) -> usize {
        super::line_end(&text[self.offset()..], delimiter)
    }

    /// The line without its delimiter.
    #[inline(always)]
    pub fn line(self, text: &[u8], delimiter: u8) -> &[u8] {
        &text[self.offset()..][..self.bytes(text, delimiter)]
    }
}

impl Word for Entry {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.word
    }
}
