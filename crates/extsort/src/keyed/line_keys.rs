//! Keyed lines: the trait that builds their keys, and their orders.

use super::line_framing::{KeyPlace, key_bytes, line_behind};
use crate::lines::LineOrder;
use std::cmp::Ordering;
use std::ops::Range;
use xsort_kernels::lines::{ByBytes, MASK_BYTES, shared_bytes};

/// The order of lines with equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTies {
    /// Lines with equal keys keep the order of the input.
    Equal,
    /// By their bytes. Identical lines keep the order of the input.
    Bytes,
    /// By [`LineKeys::compare_ties`].
    Judged,
}

/// Builds the keys of lines.
pub trait LineKeys: Send + Sync + 'static {
    /// Working memory, one for each thread.
    type Scratch: Default + Send;

    /// Appends the key of a line: bytes that compare as the key does.
    fn push_key(&self, line: &[u8], scratch: &mut Self::Scratch, out: &mut Vec<u8>);

    /// Returns the part of a line that is its key, if the key is such a part.
    /// [`push_key`](LineKeys::push_key) would append the same bytes.
    #[inline(always)]
    fn part_of(&self, _line: &[u8]) -> Option<Range<usize>> {
        None
    }

    /// Where keys are stored that are parts of their lines.
    fn place(&self) -> KeyPlace {
        KeyPlace::Before
    }

    /// The order of lines whose keys are equal.
    fn ties(&self) -> LineTies;

    /// Orders two lines with equal keys, for [`LineTies::Judged`]. `key_bytes` is at least the
    /// length of the keys.
    fn compare_ties(
        &self,
        a: &[u8],
        b: &[u8],
        key_bytes: usize,
        scratch: &mut Self::Scratch,
    ) -> Ordering;

    /// True if two lines with equal keys are duplicates, for [`LineTies::Judged`].
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> bool;
}

/// Orders keyed lines by all their bytes: by key, then by line.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByKeyAndLine;

impl LineOrder for ByKeyAndLine {
    /// Codes have no zeros.
    const ZEROS_END: bool = true;

    type Words = [u64; 2];

    type Scratch = ();

    #[inline(always)]
    fn bytes_in_words(&self, keyed: &[u8]) -> usize {
        keyed.len()
    }

    #[inline(always)]
    fn ordered_bytes(&self, keyed: &[u8]) -> usize {
        keyed.len()
    }

    #[inline(always)]
    fn word(&self, keyed: &[u8], skip: usize, (): &mut ()) -> u64 {
        ByBytes.word(keyed, skip, &mut ())
    }

    #[inline(always)]
    fn word_of(&self, tail: &[u8], bytes: usize, skip: usize, (): &mut ()) -> u64 {
        ByBytes.word_of(tail, bytes, skip, &mut ())
    }

    #[inline(always)]
    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        a.cmp(b)
    }

    #[inline(always)]
    fn same(&self, a: &[u8], b: &[u8], (): &mut ()) -> bool {
        a == b
    }

    fn is_exact(&self) -> bool {
        true
    }
}

/// Orders keyed lines by their keys only.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByLineKey;

/// Orders two keyed lines by their keys. `None` if the keys are equal.
#[inline]
fn compare_keys(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let shared = shared_bytes(a, b);
    let is_over = key_bytes_within(a, shared) < shared;
    // Beginnings of keyed lines may both end here.
    Some(a.get(shared).cmp(&b.get(shared))).filter(|&order| !is_over && order != Ordering::Equal)
}

/// Length of the key that `keyed` begins with, in bytes. If the key is longer than `bytes`, returns
/// some length of at least `bytes`.
#[inline(always)]
fn key_bytes_within(keyed: &[u8], bytes: usize) -> usize {
    key_bytes(&keyed[..keyed.len().min(MASK_BYTES.max(bytes))])
}

impl LineOrder for ByLineKey {
    /// Codes have no zeros.
    const ZEROS_END: bool = true;

    type Words = [u64; 2];

    type Scratch = ();

    #[inline]
    fn bytes_in_words(&self, keyed: &[u8]) -> usize {
        key_bytes(keyed)
    }

    #[inline(always)]
    fn ordered_bytes(&self, keyed: &[u8]) -> usize {
        key_bytes(keyed)
    }

    #[inline]
    fn word(&self, keyed: &[u8], skip: usize, (): &mut ()) -> u64 {
        self.word_of(keyed, keyed.len(), skip, &mut ())
    }

    #[inline]
    fn word_of(&self, tail: &[u8], bytes: usize, skip: usize, (): &mut ()) -> u64 {
        let end = key_bytes_within(tail, skip + 8).min(bytes);
        ByBytes.word_of(tail, end, skip, &mut ())
    }

    /// Finds the key's end once for both words.
    #[inline(always)]
    fn two_words_of(&self, tail: &[u8], bytes: usize, skip: usize, (): &mut ()) -> [u64; 2] {
        let end = key_bytes_within(tail, skip + 16).min(bytes);
        [skip, skip + 8].map(|skip| ByBytes.word_of(tail, end, skip, &mut ()))
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        compare_keys(a, b).unwrap_or(Ordering::Equal)
    }

    #[inline]
    fn same(&self, a: &[u8], b: &[u8], (): &mut ()) -> bool {
        compare_keys(a, b).is_none()
    }

    fn is_exact(&self) -> bool {
        true
    }
}

/// Orders keyed lines by their keys, and lines with equal keys by [`LineKeys::compare_ties`].
pub(super) struct ByKeyThenJudged<'k, K>(pub(super) &'k K);

/// Memory for the two lines that are compared.
#[derive(Default)]
pub(super) struct JudgeScratch<S> {
    a: Vec<u8>,
    b: Vec<u8>,
    own: S,
}

impl<K: LineKeys> LineOrder for ByKeyThenJudged<'_, K> {
    type Words = [u64; 2];

    type Scratch = JudgeScratch<K::Scratch>;

    #[inline]
    fn bytes_in_words(&self, keyed: &[u8]) -> usize {
        key_bytes(keyed)
    }

    #[inline(always)]
    fn ordered_bytes(&self, keyed: &[u8]) -> usize {
        key_bytes(keyed)
    }

    #[inline]
    fn word(&self, keyed: &[u8], skip: usize, _: &mut Self::Scratch) -> u64 {
        ByLineKey.word(keyed, skip, &mut ())
    }

    #[inline]
    fn word_of(&self, tail: &[u8], bytes: usize, skip: usize, _: &mut Self::Scratch) -> u64 {
        ByLineKey.word_of(tail, bytes, skip, &mut ())
    }

    #[inline(always)]
    fn two_words_of(
        &self,
        tail: &[u8],
        bytes: usize,
        skip: usize,
        _: &mut Self::Scratch,
    ) -> [u64; 2] {
        ByLineKey.two_words_of(tail, bytes, skip, &mut ())
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> Ordering {
        compare_keys(a, b).unwrap_or_else(|| {
            let JudgeScratch { a: work_a, b: work_b, own } = scratch;
            let key = key_bytes(a);
            let (a, b) = (line_behind(a, key, work_a), line_behind(b, key, work_b));
            if a == b { Ordering::Equal } else { self.0.compare_ties(a, b, key, own) }
        })
    }

    #[inline]
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> bool {
        compare_keys(a, b).is_none() && {
            let JudgeScratch { a: work_a, b: work_b, own } = scratch;
            let key = key_bytes(a);
            self.0.same(line_behind(a, key, work_a), line_behind(b, key, work_b), own)
        }
    }

    fn is_exact(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::line_framing::push_keyed_line;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_and_comparisons_are_those_of_the_keys(
            texts in vec((vec(0u8..5, 0..80), vec(0u8..5, 0..4)), 2),
            skip in 0usize..90,
        ) {
            let keyed: Vec<Vec<u8>> = texts.iter().map(|(key, line)| {
                let mut out = Vec::new();
                push_keyed_line(&mut out, line, |out| out.extend_from_slice(key));
                out.pop();
                out
            }).collect();
            let [a, b] = [&keyed[0], &keyed[1]];
            let order = texts[0].0.cmp(&texts[1].0);
            prop_assert_eq!(ByLineKey.compare(a, b, &mut ()), order);
            prop_assert_eq!(ByLineKey.same(a, b, &mut ()), order == Ordering::Equal);
            for keyed in [a, b] {
                let mut padded = keyed[..key_bytes(keyed)].to_vec();
                padded.resize(300, 0);
                let word = |at: usize| u64::from_be_bytes(padded[at..at + 8].try_into().unwrap());
                prop_assert_eq!(ByLineKey.word(keyed, skip, &mut ()), word(skip));
                let mut tail = keyed.clone();
                for behind in [0, 9, 90] {
                    // Another line follows, whose key may have an end of its own.
                    tail.resize(keyed.len() + behind, 1);
                    let words = ByLineKey.two_words_of(&tail, keyed.len(), skip, &mut ());
                    prop_assert_eq!(words, [word(skip), word(skip + 8)]);
                }
            }
        }
    }
}
