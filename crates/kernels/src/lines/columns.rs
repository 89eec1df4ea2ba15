//! Bytes that are equal in all keys, and key words without these bytes.
//!
//! ```text
//!  [24/Oct/2026:03:09:02
//!  [07/Oct/2026:23:41:56      the words of both: 24030902, 07234156
//!   ^^          ^^ ^^ ^^
//! ```
//!
//! Keys have bytes in which they can't differ, not only at the front but also, for example, between
//! the numbers of a time. Words without these bytes distinguish more keys and keep the order: bytes
//! that are equal in all keys never decide it.
//!
//! These bytes are guessed from a sample and checked with every line. After a key's end, words have
//! zeros. A line that ends before a byte that is equal in all other lines differs from them at its
//! end.

use super::mask::{MASK_BYTES, equal_bytes};
use super::{LineOrder, shared_bytes};

/// Number of bytes examined after the prefix that all keys share.
const WINDOW: usize = MASK_BYTES;
/// Size of both words in bytes.
const WORDS_BYTES: usize = 16;
/// Maximum number of pieces in both words.
const PIECES_MAX: usize = 8;
/// Minimum number of omitted bytes: with fewer, words of pieces don't pay.
const LEFT_OUT_MIN: usize = 2;

/// The bytes that are equal in all keys of some lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameBytes {
    /// The beginning of one of the lines, as far as it is examined, padded with zeros.
    first: Vec<u8>,
    /// Length in bytes of the prefix that all keys share.
    shared: usize,
    /// One bit for each of the bytes after that prefix, the lowest bit for the first byte.
    behind: u64,
    /// The bit of the byte after the first line's key. If all lines have this byte, all keys end
    /// there.
    end: u64,
}

impl SameBytes {
    /// The candidates from one line: the first `bytes` bytes of `tail`. All lines share its first
    /// `shared` bytes.
    pub(super) fn of<O: LineOrder>(
        order: &O,
        tail: &[u8],
        bytes: usize,
        shared: usize,
    ) -> SameBytes {
        let most = shared + WINDOW;
        let key_bytes = order.ordered_bytes(&tail[..bytes.min(most)]).max(shared);
        let has_end = key_bytes < most && key_bytes < tail.len();
        let seen = key_bytes + usize::from(has_end);
        let mut first = tail[..seen].to_vec();
        first.resize(most, 0);
        let end = if has_end { 1 << (key_bytes - shared) } else { 0 };
        SameBytes { first, shared, behind: low_bits(seen - shared), end }
    }

    /// The bits of the equal bytes that another line has as well. The line begins `tail`, which may
    /// continue after it, and shares the prefix.
    #[inline(always)]
    pub(super) fn within(&self, tail: &[u8]) -> u64 {
        let block = |bytes: &[u8]| bytes.get(self.shared..)?.first_chunk().copied();
        if let (Some(own), Some(others)) = (block(tail), block(&self.first)) {
            return self.behind & equal_bytes(&own, &others);
        }
        let pairs = tail[self.shared..].iter().zip(&self.first[self.shared..]);
        let equal = pairs.enumerate().filter(|(_, (a, b))| a == b);
        self.behind & equal.fold(0, |equal, (at, _)| equal | 1 << at)
    }

    /// Keeps only these bits.
    pub(super) fn keep(&mut self, behind: u64) {
        self.behind &= behind;
    }

    pub(super) fn behind(&self) -> u64 {
        self.behind
    }

    /// The bytes that are equal in the lines of both.
    #[must_use]
    pub fn and(&self, other: &SameBytes) -> SameBytes {
        let shared = shared_bytes(&self.first[..self.shared], &other.first[..other.shared]);
        let is_same = |bit: &usize| {
            let at = shared + bit;
            self.has(at) && other.has(at) && self.first[at] == other.first[at]
        };
        let behind = (0..WINDOW).filter(is_same).fold(0, |behind, bit| behind | 1 << bit);
        // If other lines have the byte at which the first line's key ends, their keys end there
        // too.
        let end = self.end_at().filter(|at| at - shared < WINDOW);
        SameBytes {
            first: self.first.clone(),
            shared,
            behind,
            end: end.map_or(0, |at| 1 << (at - shared)),
        }
    }

    /// The position at which all keys end, if it is known.
    fn end_at(&self) -> Option<usize> {
        let end = self.behind & self.end;
        (end != 0).then(|| self.shared + end.trailing_zeros() as usize)
    }

    fn has(&self, at: usize) -> bool {
        at < self.shared || at - self.shared < WINDOW && self.behind >> (at - self.shared) & 1 == 1
    }

    /// The columns of words that begin after the first `skip` bytes, or after the shared prefix if
    /// it is longer. `None` if words of all bytes are as good. Only the words' first `count` bytes
    /// matter.
    pub(super) fn columns(&self, skip: usize, count: usize) -> Option<Columns> {
        let skip = skip.max(self.shared);
        let end = self.behind & self.end;
        // After its end, a key has zeros.
        let all = if end == 0 { self.behind } else { self.behind | !(end - 1) };
        let passed = skip - self.shared;
        let looked_at = WINDOW.checked_sub(passed).filter(|&bytes| bytes > 0)?;
        let same = all >> passed;
        let columns = Columns::new(skip, same, looked_at, end != 0)?;
        (columns.left_out(same, count) >= LEFT_OUT_MIN).then_some(columns)
    }
}

/// A word with the lowest `count` bits set.
fn low_bits(count: usize) -> u64 {
    1u64.checked_shl(count as u32).map_or(u64::MAX, |bit| bit - 1)
}

/// The bytes of keys that words consist of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pieces: [Piece; PIECES_MAX],
    /// Number of pieces, and the number of these in the first word.
    count: usize,
    first_word: usize,
    /// For each word, the position in keys up to which all bytes are in the words or equal in all
    /// keys.
    ends: [usize; 2],
    /// For each word, the bits without a byte. Zeros there would mean that the key has ended.
    unused: [u64; 2],
    skip: usize,
}

/// Neighbouring bytes of a key that are in a word.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    at: usize,
    /// Number of bits to drop after the piece, from the eight bytes at `at`.
    drop: u32,
    /// Number of bits after the piece in the word.
    shift: u32,
}

impl Columns {
    /// The columns of `looked_at` bytes from `skip` on, without the bytes of the `same` bits.
    /// `None` if there are too many pieces. `is_over` means that no key continues after these
    /// bytes.
    fn new(skip: usize, same: u64, looked_at: usize, is_over: bool) -> Option<Columns> {
        let mut columns = Columns {
            pieces: [Piece::default(); PIECES_MAX],
            count: 0,
            first_word: 0,
            ends: [skip; 2],
            unused: [0; 2],
            skip,
        };
        let (mut at, mut used) = (0, 0);
        while used < WORDS_BYTES && at < looked_at {
            let rest = same >> at;
            if rest & 1 == 1 {
                at += rest.trailing_ones() as usize;
                continue;
            }
            let room = 8 - used % 8;
            let bytes = (rest.trailing_zeros() as usize).min(room).min(looked_at - at);
            let piece = columns.pieces.get_mut(columns.count)?;
            *piece = Piece {
                at: skip + at,
                drop: 64 - 8 * bytes as u32,
                shift: 8 * (room - bytes) as u32,
            };
            columns.count += 1;
            (at, used) = (at + bytes, used + bytes);
            columns.first_word = if used <= 8 { columns.count } else { columns.first_word };
            columns.ends[usize::from(used > 8)..].fill(skip + at);
        }
        if !is_over {
            let of_word = |used: usize| low_bits(64 - 8 * used.min(8));
            columns.unused = [of_word(used), of_word(used.saturating_sub(8))];
        }
        (columns.count > 0).then_some(columns)
    }

    /// The number of `same` bytes before the end of the words' first `count` bytes.
    fn left_out(&self, same: u64, count: usize) -> usize {
        let end = self.ends[usize::from(count > 8)] - self.skip;
        (same & low_bits(end)).count_ones() as usize
    }

    /// The position in keys after the word at `place`.
    pub(super) fn end(&self, place: usize) -> usize {
        self.ends[place]
    }

    /// The words of the line that is the first `bytes` bytes of `tail`.
    #[inline(always)]
    pub(super) fn words_of<O: LineOrder>(&self, order: &O, tail: &[u8], bytes: usize) -> [u64; 2] {
        let end = self.ends[1];
        let words = match tail.get(..end + 8) {
            Some(tail) if order.ordered_bytes(&tail[..bytes.min(end)]) >= end => self.words(tail),
            _ => self.words_of_end(order, &tail[..bytes]),
        };
        words.map(|word| word ^ O::TURN)
    }

    /// The words of a line that may end within them.
    #[cold]
    fn words_of_end<O: LineOrder>(&self, order: &O, line: &[u8]) -> [u64; 2] {
        let end = self.ends[1];
        let bytes = order.ordered_bytes(&line[..line.len().min(end)]);
        let mut own = [0; WINDOW + 8];
        if let Some(line) = line[..bytes].get(self.skip..) {
            own[..line.len()].copy_from_slice(line);
        }
        let mut moved = *self;
        moved.pieces.iter_mut().for_each(|piece| piece.at = piece.at.saturating_sub(self.skip));
        moved.words(&own)
    }

    /// The words of a key that is readable for eight more bytes after them.
    #[inline(always)]
    fn words(&self, key: &[u8]) -> [u64; 2] {
        let word = |pieces: &[Piece]| {
            pieces.iter().fold(0, |word, &Piece { at, drop, shift }| {
                let bytes = key[at..].first_chunk::<8>().copied().unwrap_or_default();
                word | u64::from_be_bytes(bytes) >> drop << shift
            })
        };
        let (first, second) = self.pieces[..self.count].split_at(self.first_word);
        [word(first) | self.unused[0], word(second) | self.unused[1]]
    }
}
