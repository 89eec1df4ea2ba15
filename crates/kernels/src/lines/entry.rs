//! The entry of a line: its position and one or two words of its key.

#![allow(unsafe_code)]

use crate::words::Word;
use bytemuck::{Pod, Zeroable};
use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Range;

/// Number of bits for a line's length in its entry.
const LENGTH_BITS: u32 = 24;
/// The length stored for all lines of at least this length. Their ends must be searched for.
const LONG: u64 = (1 << LENGTH_BITS) - 1;

/// The key words in an entry: one or two.
///
/// A second word is worth its memory if keys are costly to build and their first words are often
/// equal.
pub trait Words: sealed::Sealed + Pod + Ord + Default + Debug + Send + Sync {
    /// Number of words.
    const COUNT: usize;

    /// Takes the first `COUNT` of `words`.
    fn of(words: [u64; 2]) -> Self;

    /// The word at `place`, which is less than [`COUNT`](Words::COUNT).
    fn at(self, place: usize) -> u64;

    /// Returns the words with the first one replaced.
    fn with_first(self, word: u64) -> Self;

    /// Returns the entries as a slice of this type.
    ///
    /// # Panics
    /// If the entries hold another number of words.
    fn typed(entries: Entries<'_>) -> &[Entry<Self>];
}

/// Only arrays of words implement [`Words`], so that entries have no padding.
mod sealed {
    pub trait Sealed {}
    impl Sealed for [u64; 1] {}
    impl Sealed for [u64; 2] {}
}

impl Words for [u64; 1] {
    const COUNT: usize = 1;

    #[inline(always)]
    fn of([first, _]: [u64; 2]) -> Self {
        [first]
    }

    #[inline(always)]
    fn at(self, place: usize) -> u64 {
        self[place]
    }

    #[inline(always)]
    fn with_first(self, word: u64) -> Self {
        [word]
    }

    #[inline(always)]
    fn typed(entries: Entries<'_>) -> &[Entry<Self>] {
        match entries {
            Entries::OneWord(entries) => entries,
            Entries::TwoWords(_) => panic!("entries of another order"),
        }
    }
}

impl Words for [u64; 2] {
    const COUNT: usize = 2;

    #[inline(always)]
    fn of(words: [u64; 2]) -> Self {
        words
    }

    #[inline(always)]
    fn at(self, place: usize) -> u64 {
        self[place]
    }

    #[inline(always)]
    fn with_first(self, word: u64) -> Self {
        [word, self[1]]
    }

    #[inline(always)]
    fn typed(entries: Entries<'_>) -> &[Entry<Self>] {
        match entries {
            Entries::TwoWords(entries) => entries,
            Entries::OneWord(_) => panic!("entries of another order"),
        }
    }
}

/// A line of a text.
///
/// ```text
///  words | first eight or sixteen bytes of its normalised key |
///  place | 40 bits: offset of the line in the text | 24 bits: its length in bytes |
/// ```
///
/// A length of all ones stands for that length or more.
///
/// Entries are ordered by their first word, then by place: equal words keep the order of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Entry<W = [u64; 1]> {
    words: W,
    place: u64,
}

// SAFETY: all fields are integers, which may be zero.
unsafe impl<W: Words> Zeroable for Entry<W> {}
// SAFETY: the fields are two or three words, in this order: no padding, and any bits are valid.
unsafe impl<W: Words> Pod for Entry<W> {}

impl<W: Words> PartialOrd for Entry<W> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<W: Words> Ord for Entry<W> {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        (self.word(), self.place).cmp(&(other.word(), other.place))
    }
}

impl<W> Entry<W> {
    /// Texts must have fewer bytes than this.
    pub const TEXT_BYTES_MAX: usize = 1 << (64 - LENGTH_BITS);
}

impl<W: Words> Entry<W> {
    /// The entry of the line of `bytes` bytes at `offset`.
    #[inline(always)]
    pub fn new(words: W, offset: usize, bytes: usize) -> Self {
        debug_assert!(offset < Self::TEXT_BYTES_MAX);
        Entry { words, place: (offset as u64) << LENGTH_BITS | (bytes as u64).min(LONG) }
    }

    /// The first eight bytes of the line's normalised key.
    #[inline(always)]
    pub fn word(self) -> u64 {
        self.words.at(0)
    }

    /// The key words in the entry.
    #[inline(always)]
    pub fn words(self) -> W {
        self.words
    }

    /// Returns the entry with another first word.
    #[inline(always)]
    pub(crate) fn with_word(self, word: u64) -> Self {
        Entry { words: self.words.with_first(word), ..self }
    }

    /// Returns the entry with other words.
    #[inline(always)]
    pub(crate) fn with_words(self, words: W) -> Self {
        Entry { words, ..self }
    }

    /// Returns the entry with another offset.
    #[cfg(test)]
    pub(crate) fn moved_to(self, offset: usize) -> Self {
        debug_assert!(offset < Self::TEXT_BYTES_MAX);
        Entry { place: (offset as u64) << LENGTH_BITS | self.place & LONG, ..self }
    }

    /// Offset of the line in the text.
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

    /// The length in the entry. For a long line it is less than the line's length.
    #[inline(always)]
    pub(crate) fn stored_bytes(self) -> usize {
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

impl<W: Words> Word for Entry<W> {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.word()
    }
}

/// Entries of lines, with as many words as their order requires.
#[derive(Clone, Copy, Debug)]
pub enum Entries<'a> {
    /// Entries with one word each.
    OneWord(&'a [Entry<[u64; 1]>]),
    /// Entries with two words each.
    TwoWords(&'a [Entry<[u64; 2]>]),
}

impl<'a> Entries<'a> {
    /// Casts bytes to entries of `entry_bytes` bytes each.
    ///
    /// # Panics
    /// If `bytes` aren't aligned, aren't whole entries, or no entry has `entry_bytes` bytes.
    #[must_use]
    pub fn from_bytes(bytes: &'a [u8], entry_bytes: usize) -> Entries<'a> {
        if entry_bytes == size_of::<Entry<[u64; 1]>>() {
            return Entries::OneWord(bytemuck::cast_slice(bytes));
        }
        assert_eq!(entry_bytes, size_of::<Entry<[u64; 2]>>(), "bytes of an entry");
        Entries::TwoWords(bytemuck::cast_slice(bytes))
    }

    /// Number of entries.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Entries::OneWord(entries) => entries.len(),
            Entries::TwoWords(entries) => entries.len(),
        }
    }

    /// True if there are no entries.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The entries in `range`.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Entries<'a> {
        match self {
            Entries::OneWord(entries) => Entries::OneWord(&entries[range]),
            Entries::TwoWords(entries) => Entries::TwoWords(&entries[range]),
        }
    }

    /// The line of the entry at `index`, without its delimiter.
    #[must_use]
    pub fn line(self, index: usize, text: &'a [u8], delimiter: u8) -> &'a [u8] {
        match self {
            Entries::OneWord(entries) => entries[index].line(text, delimiter),
            Entries::TwoWords(entries) => entries[index].line(text, delimiter),
        }
    }
}
