//! Lines with keys before them: what makes the keys, and the orders of such lines.

use super::line_framing::{key_bytes, line_behind};
use crate::variable::LineOrder;
use std::cmp::Ordering;
use xsort_kernels::lines::{ByBytes, shared_bytes};

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
    let differ = key_bytes(&a[..shared]) == shared;
    // At the end of both, too, if they are only beginnings.
    Some(a[shared..].cmp(&b[shared..])).filter(|&order| differ && order != Ordering::Equal)
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

    #[inline]
    fn word(&self, keyed: &[u8], skip: usize, (): &mut ()) -> u64 {
        ByBytes.word(&keyed[..key_bytes(&keyed[..keyed.len().min(skip + 8)])], skip, &mut ())
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

    #[inline]
    fn word(&self, keyed: &[u8], skip: usize, _: &mut Self::Scratch) -> u64 {
        ByLineKey.word(keyed, skip, &mut ())
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Self::Scratch) -> Ordering {
        compare_keys(a, b).unwrap_or_else(|| {
            let JudgeScratch { a: work_a, b: work_b, own } = scratch;
            let key = key_bytes(a);
            let (a, b) = (line_behind(a, key, work_a), line_behind(b, key, work_b));
            if a == b { Ordering::Equal } else { self.0.compare_ties(a, b, own) }
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
