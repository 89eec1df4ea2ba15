//! Lines with keys before them: what makes the keys, and the orders of such lines.

use super::line_framing::{KeyPlace, key_bytes, line_behind};
use crate::variable::LineOrder;
use std::cmp::Ordering;
use std::ops::Range;
use xsort_kernels::lines::{ByBytes, MASK_BYTES, shared_bytes};

/// How lines with equal keys compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTies {
    /// They keep the order of the input.
    Equal,
    /// By their bytes; those that are the same, too, keep the order of the input.
    Bytes,
    /// As [`LineKeys::compare_ties`] says.
    Judged,
}

/// Makes keys of lines.
pub trait LineKeys: Send + Sync + 'static {
    /// Memory for it: one for each thread.
    type Scratch: Default + Send;

    /// Appends the key of a line: bytes that compare as the key does.
    fn push_key(&self, line: &[u8], scratch: &mut Self::Scratch, out: &mut Vec<u8>);

    /// Where in a line its key is, if that is a part of the line as it is. Then
    /// [`push_key`](LineKeys::push_key) would append this part.
    #[inline(always)]
    fn part_of(&self, _line: &[u8]) -> Option<Range<usize>> {
        None
    }

    /// Where keys go that are parts of their lines.
    fn place(&self) -> KeyPlace {
        KeyPlace::Before
    }

    /// How lines compare whose keys are equal.
    fn ties(&self) -> LineTies;

    /// Orders two lines whose keys are equal, if they are judged. `key_bytes` is the length of the
    /// keys, or more.
    fn compare_ties(
        &self,
        a: &[u8],
        b: &[u8],
        key_bytes: usize,
        scratch: &mut Self::Scratch,
    ) -> Ordering;

    /// Whether two lines whose keys are equal are duplicates, if they are judged.
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> bool;
}

/// Keyed lines by all of their bytes: by their keys, then by their lines.
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

/// Keyed lines by their keys alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByLineKey;

/// How two keyed lines compare by their keys; `None` if these are equal.
#[inline]
fn compare_keys(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let shared = shared_bytes(a, b);
    let is_over = key_bytes_within(a, shared) < shared;
    // At the end of both, too, if they are only beginnings.
    Some(a.get(shared).cmp(&b.get(shared))).filter(|&order| !is_over && order != Ordering::Equal)
}

/// Where the key of a line ends that `keyed` begins with; a place behind the first `bytes` bytes
/// if that is not before it.
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

    /// Both words of one look for the key's end.
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

/// Keyed lines by their keys, and those with equal keys as their keys' maker says.
pub(super) struct ByKeyThenJudged<'k, K>(pub(super) &'k K);

/// Memory to judge two lines.
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
                    // Another line goes on there, whose key may have an end of its own.
                    tail.resize(keyed.len() + behind, 1);
                    let words = ByLineKey.two_words_of(&tail, keyed.len(), skip, &mut ());
                    prop_assert_eq!(words, [word(skip), word(skip + 8)]);
                }
            }
        }
    }
}
