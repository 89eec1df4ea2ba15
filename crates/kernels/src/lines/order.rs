//! An order of lines, as sorting needs it.

use super::Words;
use std::cmp::Ordering;

/// An order of lines. A line is given without its delimiter.
///
/// Words are pieces of a normalised key. If two lines have equal words up to some place and
/// different ones there, these decide their order. An order whose words contradict its comparisons
/// sorts wrongly, but does no other harm.
pub trait LineOrder: Sync {
    /// Whether words are the line's own bytes, with zeros behind its end. Then a line that ends
    /// within its word need not be read.
    const WORD_IS_LINE: bool = false;

    /// Whether words that are the line's bytes have all bits inverted, so that larger bytes come
    /// first. Longer lines come before their own prefixes then.
    const IS_REVERSE: bool = false;

    /// Whether a key has no zero byte, so that the zeros of words are behind its end: words that
    /// end with a zero are all there is to compare.
    const ZEROS_END: bool = false;

    /// The exclusive or of this and a word is the line's bytes.
    const TURN: u64 = if Self::IS_REVERSE { u64::MAX } else { 0 };

    /// Orders two lines, of which the shorter is a prefix of the longer, by their lengths.
    #[inline(always)]
    fn compare_lengths(a: usize, b: usize) -> Ordering {
        if Self::IS_REVERSE { b.cmp(&a) } else { a.cmp(&b) }
    }

    /// Words that entries hold: one or two. One if [`WORD_IS_LINE`](LineOrder::WORD_IS_LINE).
    type Words: Words;

    /// Memory for comparisons: one for each thread.
    type Scratch: Default + Send;

    /// Bytes at the beginning of a line of which its words are made, one after the other, with
    /// zeros behind them; 0 if words are something else. Lines that share such bytes share them
    /// in their words.
    #[inline(always)]
    fn bytes_in_words(&self, line: &[u8]) -> usize {
        if Self::WORD_IS_LINE { line.len() } else { 0 }
    }

    /// How many bytes of a line, or of the beginning of one, are its normalised key as they are, up
    /// to the key's end; 0 if the key is something else.
    #[inline(always)]
    fn ordered_bytes(&self, line: &[u8]) -> usize {
        if Self::WORD_IS_LINE { line.len() } else { 0 }
    }

    /// Eight bytes of the line's normalised key from byte `skip` on, as a big-endian number; zeros
    /// behind its end.
    fn word(&self, line: &[u8], skip: usize, scratch: &mut Self::Scratch) -> u64;

    /// The same for the line that is the first `bytes` bytes of `tail`, which may go on behind it.
    #[inline(always)]
    fn word_of(&self, tail: &[u8], bytes: usize, skip: usize, scratch: &mut Self::Scratch) -> u64 {
        self.word(&tail[..bytes], skip, scratch)
    }

    /// The words at `skip` and behind it.
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

    /// Whether comparing the bytes of two keys, each made once, is cheaper than comparing lines.
    /// Then words are exact.
    fn has_dear_keys(&self) -> bool {
        false
    }

    /// Appends the line's whole normalised key, if keys are dear.
    fn push_key(&self, _line: &[u8], _scratch: &mut Self::Scratch, _key: &mut Vec<u8>) {}

    /// Compares two lines. Those that are equal keep the order of the input.
    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> Ordering;

    /// Whether two lines have the same key, so that one of them is a duplicate.
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> bool;

    /// Whether enough words tell any two different keys apart.
    fn is_exact(&self) -> bool;

    /// Whether the first word of a line costs less than a comparison. Where words don't decide
    /// alone, because a language does, they cost more, unless a number comes first.
    fn has_cheap_words(&self) -> bool {
        self.is_exact() || Self::Words::COUNT == 1
    }

    /// Whether a word is read where it lies. If not, it is made, with all of the key before it.
    fn has_words_at_hand(&self) -> bool {
        true
    }

    /// Average length of lines from which on it is cheaper to put a sorted chunk's lines in order,
    /// and to make their words once more, than to keep words beside lines that stay where they are
    /// and to read these out of order. `None` if it never is.
    fn arranged_from(&self) -> Option<usize> {
        Some(16)
    }
}

/// The order of the lines' bytes.
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

/// The order of the lines' bytes, backwards.
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
