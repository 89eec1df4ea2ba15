//! An order of lines.

use super::Words;
use std::cmp::Ordering;

/// An order of lines. A line is given without its delimiter.
///
/// Words are pieces of a normalised key. The first word in which two lines differ decides their
/// order. If an order's words contradict its comparisons, the result is in a wrong order, but there
/// is no other harm.
pub trait LineOrder: Sync {
    /// True if words are the line's own bytes, padded with zeros. A line that ends within its word
    /// then needn't be read.
    const WORD_IS_LINE: bool = false;

    /// True if words are the line's bytes with all bits inverted, so that larger bytes come first.
    /// Longer lines then come before their own prefixes.
    const IS_REVERSE: bool = false;

    /// True if keys contain no zero byte, so that zeros in words are only after a key's end. If a
    /// word ends with a zero, the key has no further bytes to compare.
    const ZEROS_END: bool = false;

    /// XOR of this and a word gives the line's bytes.
    const TURN: u64 = if Self::IS_REVERSE { u64::MAX } else { 0 };

    /// Compares two lines by their lengths. The shorter one must be a prefix of the longer.
    #[inline(always)]
    fn compare_lengths(a: usize, b: usize) -> Ordering {
        if Self::IS_REVERSE { b.cmp(&a) } else { a.cmp(&b) }
    }

    /// The key words in entries: one or two. One if [`WORD_IS_LINE`](LineOrder::WORD_IS_LINE).
    type Words: Words;

    /// Memory for comparisons, one for each thread.
    type Scratch: Default + Send;

    /// Number of bytes at the beginning of a line that its words consist of, in order and padded
    /// with zeros; 0 if words are built otherwise. A prefix that lines share in these bytes is also
    /// shared by their words.
    #[inline(always)]
    fn bytes_in_words(&self, line: &[u8]) -> usize {
        if Self::WORD_IS_LINE { line.len() } else { 0 }
    }

    /// Number of bytes of a line, or of its beginning, that are its normalised key unchanged, up to
    /// the key's end; 0 if the key is built otherwise.
    #[inline(always)]
    fn ordered_bytes(&self, line: &[u8]) -> usize {
        if Self::WORD_IS_LINE { line.len() } else { 0 }
    }

    /// Returns eight bytes of the line's normalised key from byte `skip` on, as a big-endian number
    /// padded with zeros.
    fn word(&self, line: &[u8], skip: usize, scratch: &mut Self::Scratch) -> u64;

    /// Returns the word at byte `skip` of the line that is the first `bytes` bytes of `tail`, which
    /// may continue after it.
    #[inline(always)]
    fn word_of(&self, tail: &[u8], bytes: usize, skip: usize, scratch: &mut Self::Scratch) -> u64 {
        self.word(&tail[..bytes], skip, scratch)
    }

    /// Returns the word at byte `skip` and the next one.
    #[inline(always)]
    fn two_words_of(
        &self,
        tail: &[u8],
        bytes: usize,
        skip: usize,
        scratch: &mut Self::Scratch,
    ) -> [u64; 2] {
        [skip, skip + 8].map(|skip| self.word_of(tail, bytes, skip, scratch))
    }

    /// True if comparing two prebuilt keys is cheaper than comparing the lines they were built
    /// from. Requires exact key words.
    fn has_dear_keys(&self) -> bool {
        false
    }

    /// Appends the line's whole normalised key, if keys are costly.
    fn push_key(&self, _line: &[u8], _scratch: &mut Self::Scratch, _key: &mut Vec<u8>) {}

    /// Compares two lines. Equal lines keep the order of the input.
    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> Ordering;

    /// True if two lines have the same key, so that one is a duplicate.
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> bool;

    /// True if any two different keys differ in some word.
    fn is_exact(&self) -> bool;

    /// True if the first word of a line costs less than a comparison. Words of a language's order,
    /// which don't decide alone, cost more, unless a number comes first.
    fn has_cheap_words(&self) -> bool {
        self.is_exact() || Self::Words::COUNT == 1
    }

    /// True if a word is read directly from the line. Otherwise it is built, with all of the key
    /// before it.
    fn has_words_at_hand(&self) -> bool {
        true
    }

    /// The average length of lines from which on it is cheaper to move a sorted chunk's lines into
    /// order and build their words again. Below it, it is cheaper to keep words beside lines that
    /// stay in place, and to read these out of order. `None` if moving never pays.
    fn arranged_from(&self) -> Option<usize> {
        Some(16)
    }
}

/// Orders lines by their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByBytes;

impl LineOrder for ByBytes {
    const WORD_IS_LINE: bool = true;

    type Words = [u64; 1];

    type Scratch = ();

    #[inline(always)]
    fn word(&self, line: &[u8], skip: usize, _: &mut ()) -> u64 {
        let rest = line.get(skip..).unwrap_or_default();
        match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => rest
                .iter()
                .enumerate()
                .fold(0, |word, (at, &byte)| word | u64::from(byte) << (56 - 8 * at)),
        }
    }

    #[inline(always)]
    fn word_of(&self, tail: &[u8], bytes: usize, skip: usize, scratch: &mut ()) -> u64 {
        match tail.get(skip..).and_then(<[u8]>::first_chunk::<8>) {
            Some(readable) => {
                let own = bytes.saturating_sub(skip);
                let mask = if own >= 8 { u64::MAX } else { !(u64::MAX >> (8 * own)) };
                u64::from_be_bytes(*readable) & mask
            }
            None => self.word(&tail[..bytes], skip, scratch),
        }
    }

    #[inline(always)]
    fn compare(&self, a: &[u8], b: &[u8], _: &mut ()) -> Ordering {
        a.cmp(b)
    }

    #[inline(always)]
    fn same(&self, a: &[u8], b: &[u8], _: &mut ()) -> bool {
        a == b
    }

    fn is_exact(&self) -> bool {
        true
    }
}

/// Orders lines by their bytes, in descending order.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByBytesReversed;

impl LineOrder for ByBytesReversed {
    const WORD_IS_LINE: bool = true;

    const IS_REVERSE: bool = true;

    type Words = [u64; 1];

    type Scratch = ();

    #[inline(always)]
    fn word(&self, line: &[u8], skip: usize, scratch: &mut ()) -> u64 {
        !ByBytes.word(line, skip, scratch)
    }

    #[inline(always)]
    fn word_of(&self, tail: &[u8], bytes: usize, skip: usize, scratch: &mut ()) -> u64 {
        !ByBytes.word_of(tail, bytes, skip, scratch)
    }

    #[inline(always)]
    fn compare(&self, a: &[u8], b: &[u8], _: &mut ()) -> Ordering {
        b.cmp(a)
    }

    #[inline(always)]
    fn same(&self, a: &[u8], b: &[u8], _: &mut ()) -> bool {
        a == b
    }

    fn is_exact(&self) -> bool {
        true
    }
}
