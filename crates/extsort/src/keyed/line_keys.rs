//! Lines with keys before them: what makes the keys, and the orders of such lines.

use super::encode::{CODE, END_BYTES, ZERO, key_bytes};
use super::order::ByKey;
use crate::variable::LineOrder;
use std::cmp::Ordering;
use xsort_kernels::lines::shared_bytes;

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

    /// How lines compare whose keys are equal.
    fn ties(&self) -> LineTies;

    /// Orders two lines whose keys are equal, if they are judged.
    fn compare_ties(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> Ordering;

    /// Whether two lines whose keys are equal are duplicates, if they are judged.
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> bool;
}

/// Compares keyed lines by their keys, and lines with equal keys as their keys' maker does.
pub(super) struct ByKeyThenJudged<'k, K>(pub(super) &'k K);

/// Memory to judge two lines.
#[derive(Default)]
pub(super) struct JudgeScratch<S> {
    a: Vec<u8>,
    b: Vec<u8>,
    own: S,
}

impl<K: LineKeys> ByKeyThenJudged<'_, K> {
    /// The lines of two keyed ones, if their keys are equal; else how these compare.
    #[inline]
    fn judge<T>(
        a: &[u8],
        b: &[u8],
        scratch: &mut JudgeScratch<K::Scratch>,
        of_keys: impl FnOnce(Ordering) -> T,
        of_lines: impl FnOnce(&[u8], &[u8], &mut K::Scratch) -> T,
    ) -> T {
        let shared = shared_bytes(a, b);
        let key = key_bytes(&a[..shared]);
        if key + END_BYTES > shared {
            return of_keys(a[shared..].cmp(&b[shared..]));
        }
        if shared == a.len() && shared == b.len() {
            return of_keys(Ordering::Equal);
        }
        let JudgeScratch { a: line_a, b: line_b, own } = scratch;
        // Behind the end of the key is the kind of what follows.
        let from = key + END_BYTES + 1;
        of_lines(decoded(&a[from..], line_a), decoded(&b[from..], line_b), own)
    }
}

/// A line without codes.
fn decoded<'l>(line: &'l [u8], work: &'l mut Vec<u8>) -> &'l [u8] {
    if memchr::memchr(CODE, line).is_none() {
        return line;
    }
    work.clear();
    let mut bytes = line.iter();
    while let Some(&byte) = bytes.next() {
        work.push(match byte {
            CODE => bytes.next().map_or(0, |code| code.wrapping_sub(ZERO)),
            byte => byte,
        });
    }
    work
}

impl<K: LineKeys> LineOrder for ByKeyThenJudged<'_, K> {
    type Words = [u64; 2];

    type Scratch = JudgeScratch<K::Scratch>;

    #[inline]
    fn bytes_in_words(&self, keyed: &[u8]) -> usize {
        ByKey.bytes_in_words(keyed)
    }

    #[inline]
    fn word(&self, keyed: &[u8], skip: usize, _: &mut Self::Scratch) -> u64 {
        ByKey.word(keyed, skip, &mut ())
    }

    #[inline]
    fn two_words_of(
        &self,
        tail: &[u8],
        bytes: usize,
        skip: usize,
        _: &mut Self::Scratch,
    ) -> [u64; 2] {
        ByKey.two_words_of(tail, bytes, skip, &mut ())
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> Ordering {
        let of_lines = |a: &[u8], b: &[u8], own: &mut K::Scratch| self.0.compare_ties(a, b, own);
        Self::judge(a, b, scratch, |order| order, of_lines)
    }

    #[inline]
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> bool {
        let of_lines = |a: &[u8], b: &[u8], own: &mut K::Scratch| self.0.same(a, b, own);
        // Lines with the same bytes need not be the same, if a key is "not a number".
        if a == b {
            let from = key_bytes(a) + END_BYTES + 1;
            let JudgeScratch { a: line, own, .. } = scratch;
            let line = decoded(&a[from..], line);
            return of_lines(line, line, own);
        }
        Self::judge(a, b, scratch, |_| false, of_lines)
    }

    fn is_exact(&self) -> bool {
        false
    }
}
