//! Bytes that are the same in all keys, and words without them.
//!
//! ```text
//!  [24/Oct/2026:03:09:02
//!  [07/Oct/2026:23:41:56      the words of both: 24030902, 07234156
//!   ^^          ^^ ^^ ^^
//! ```
//!
//! Keys have bytes in which they can't differ: not only at the front, but between the numbers of a
//! time or the parts of a name as well. Words without them tell more keys apart, in the same order:
//! bytes that are equal in all keys don't decide between two.
//!
//! Which bytes these are is guessed from a sample and checked with every line. Behind a key's end
//! words have zeros, as always. A line that ends before a byte that is the same in all others
//! differs from them where it ends.

#![allow(unsafe_code)]

use super::{LineOrder, shared_bytes};

/// Bytes behind those that all keys begin with that are looked at.
const WINDOW: usize = 64;
/// Bytes of both words.
const WORDS_BYTES: usize = 16;
/// Words are made of at most so many pieces.
const PIECES_MAX: usize = 8;
/// Bytes that are left out, at least: fewer don't pay for words of pieces.
const LEFT_OUT_MIN: usize = 2;

/// Which bytes are the same in all keys of some lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameBytes {
    /// The beginning of one of the lines, as far as it is looked at, and zeros.
    first: Vec<u8>,
    /// So many bytes at the front are.
    shared: usize,
    /// A bit for each of the bytes behind them, the lowest for the first.
    behind: u64,
    /// That of the byte behind the key of the first line: if all have it, all keys end there.
    end: u64,
}

impl SameBytes {
    /// Those of the line of `bytes` bytes that `tail` begins with, which shares its first `shared`
    /// bytes with all others.
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

    /// Those of these bytes that a line has as well, which shares the first ones. `tail` goes on
    /// behind the line.
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

    /// Those that are left of these bytes.
    pub(super) fn keep(&mut self, behind: u64) {
        self.behind &= behind;
    }

    pub(super) fn behind(&self) -> u64 {
        self.behind
    }

    /// Those of the lines of both.
    #[must_use]
    pub fn and(&self, other: &SameBytes) -> SameBytes {
        let shared = shared_bytes(&self.first[..self.shared], &other.first[..other.shared]);
        let is_same = |bit: &usize| {
            let at = shared + bit;
            self.has(at) && other.has(at) && self.first[at] == other.first[at]
        };
        let behind = (0..WINDOW).filter(is_same).fold(0, |behind, bit| behind | 1 << bit);
        // Where the first line's key ends, others that have the same byte end, too.
        let end = self.end_at().filter(|at| at - shared < WINDOW);
        SameBytes {
            first: self.first.clone(),
            shared,
            behind,
            end: end.map_or(0, |at| 1 << (at - shared)),
        }
    }

    /// Where all keys end, if that is known.
    fn end_at(&self) -> Option<usize> {
        let end = self.behind & self.end;
        (end != 0).then(|| self.shared + end.trailing_zeros() as usize)
    }

    fn has(&self, at: usize) -> bool {
        at < self.shared || at - self.shared < WINDOW && self.behind >> (at - self.shared) & 1 == 1
    }

    /// How words are made of the bytes behind the first `skip`, or behind those that all lines
    /// share; `None` if words of all bytes are as good. The first `count` bytes of them matter.
    pub(super) fn columns(&self, skip: usize, count: usize) -> Option<Columns> {
        let skip = skip.max(self.shared);
        let end = self.behind & self.end;
        // Behind its end a key has zeros.
        let all = if end == 0 { self.behind } else { self.behind | !(end - 1) };
        let passed = skip - self.shared;
        let looked_at = WINDOW.checked_sub(passed).filter(|&bytes| bytes > 0)?;
        let same = all >> passed;
        let columns = Columns::new(skip, same, looked_at, end != 0)?;
        (columns.left_out(same, count) >= LEFT_OUT_MIN).then_some(columns)
    }
}

/// The lowest `count` bits.
fn low_bits(count: usize) -> u64 {
    1u64.checked_shl(count as u32).map_or(u64::MAX, |bit| bit - 1)
}

/// The bytes of keys that words are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pieces: [Piece; PIECES_MAX],
    /// How many there are, and how many of them the first word has.
    count: usize,
    first_word: usize,
    /// How far in keys each word reaches: all bytes before that are in the words or the same.
    ends: [usize; 2],
    /// Bits of words that no byte is in: zeros would say that the key is over.
    unused: [u64; 2],
    skip: usize,
}

/// Neighbouring bytes of a key that are in a word.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    at: usize,
    /// Bits of eight bytes that are others.
    drop: u32,
    /// Bits of the word behind them.
    shift: u32,
}

impl Columns {
    /// Of `looked_at` bytes from `skip` on, but for those of the `same` bits; none if these are in
    /// too many pieces. `is_over`: there is nothing behind them.
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

    /// How many of the `same` bytes are between the first `count` bytes of words.
    fn left_out(&self, same: u64, count: usize) -> usize {
        let end = self.ends[usize::from(count > 8)] - self.skip;
        (same & low_bits(end)).count_ones() as usize
    }

    /// The byte of keys behind the word at `place`.
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

    /// The same of a line that may end within them.
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

    /// The words of a key that goes on for eight bytes behind them, or is padded.
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

/// A bit for each byte, the lowest for the first: whether it is the same in both.
#[inline(always)]
fn equal_bytes(a: &[u8; WINDOW], b: &[u8; WINDOW]) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE2 is part of x86-64, and the loads read the 64 bytes of both.
    unsafe {
        use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8};
        let part = |at: usize| {
            let [a, b] =
                [a, b].map(|bytes| _mm_loadu_si128(bytes.as_ptr().add(at).cast::<__m128i>()));
            u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)).cast_unsigned()) << at
        };
        part(0) | part(16) | part(32) | part(48)
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    a.iter().zip(b).enumerate().fold(0, |equal, (at, (a, b))| equal | u64::from(a == b) << at)
}
