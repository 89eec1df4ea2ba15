//! `-d`, `-f` and `-i`: ignore some bytes of a text, and convert the others to upper case.

use std::cmp::Ordering;

use super::super::command::Flags;
use super::bytes::is_escaped;
use crate::locale::Classes;
use crate::shared_bytes::shared_bytes;

/// Set for a byte that counts.
const COUNTS: u16 = 1 << 8;
/// Set for a byte that counts as one that is escaped where the end of the text is marked.
const IS_ESCAPED: u16 = 1 << 9;
/// Bytes that are converted at a time.
const PIECE: usize = 32;

/// Maps each byte to another byte, or to nothing.
#[derive(Clone, Debug)]
pub(super) struct Transform {
    /// The new byte, with [`COUNTS`] and [`IS_ESCAPED`].
    table: Box<[u16; 256]>,
}

/// The result of [`Transform::copy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    /// Number of bytes that count, up to the end of the copied ones.
    pub(super) bytes: usize,
    /// True if one of them is escaped where the end of the text is marked.
    pub(super) has_escaped: bool,
}

impl Transform {
    /// The transformation for `flags`; `None` if they leave text unchanged.
    pub(super) fn new(flags: Flags, classes: &Classes) -> Option<Self> {
        let keeps = |byte: usize| match flags {
            Flags { dictionary: true, .. } => classes.blank[byte] || classes.alphanumeric[byte],
            Flags { nonprinting: true, .. } => classes.printable[byte],
            _ => true,
        };
        let folded = |byte: usize| if flags.fold { classes.upper[byte] } else { byte as u8 };
        let becomes = |byte: usize| keeps(byte).then(|| folded(byte));
        (flags.fold || flags.ignores()).then(|| Self::of(becomes))
    }

    fn of(becomes: impl Fn(usize) -> Option<u8>) -> Self {
        let entry = |byte: u8| {
            let escaped = if is_escaped(byte) { IS_ESCAPED } else { 0 };
            u16::from(byte) | COUNTS | escaped
        };
        Self { table: Box::new(std::array::from_fn(|byte| becomes(byte).map_or(0, entry))) }
    }

    /// The bytes of `text` that count, transformed.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        let entries = text.iter().map(|&byte| self.table[usize::from(byte)]);
        entries.filter(|entry| entry & COUNTS != 0).map(|entry| entry as u8)
    }

    /// Copies the bytes that count from the `skip`th on, as many as fit, followed by zeros.
    #[inline]
    pub(super) fn copy<const N: usize>(
        &self,
        text: &[u8],
        skip: usize,
        out: &mut [u8; N],
    ) -> Copied {
        let (mut all, mut bytes) = (0, 0);
        let mut rest = text.iter();
        while bytes < skip
            && let Some(&byte) = rest.next()
        {
            let entry = self.table[usize::from(byte)];
            bytes += usize::from((entry / COUNTS) & 1);
            all |= entry;
        }
        let mut at = 0;
        // No branch depends on which bytes are ignored: a byte that doesn't count is overwritten by
        // the next one.
        for &byte in rest {
            let entry = self.table[usize::from(byte)];
            out[at] = entry as u8;
            at += usize::from((entry / COUNTS) & 1);
            all |= entry;
            if at == N {
                break;
            }
        }
        out[at..].fill(0);
        Copied { bytes: bytes + at, has_escaped: all & IS_ESCAPED != 0 }
    }

    /// Appends the first `limit` bytes of `text` that count. Returns true if one of them is escaped
    /// where the end of the text is marked.
    #[inline]
    pub(super) fn push(&self, text: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
        let (from, mut has_escaped) = (out.len(), false);
        for piece in text.chunks(PIECE) {
            let mut counting = [0; PIECE];
            let copied = self.copy(piece, 0, &mut counting);
            out.extend_from_slice(&counting[..copied.bytes]);
            has_escaped |= copied.has_escaped;
            if out.len() - from >= limit {
                out.truncate(from + limit);
                break;
            }
        }
        has_escaped
    }

    /// Orders two texts by the bytes that count. Their common prefix is skipped untransformed.
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let shared = shared_bytes(a, b);
        self.bytes(&a[shared..]).cmp(self.bytes(&b[shared..]))
    }
}

/// Returns `text` after `transform`, built in `work`.
pub(super) fn apply<'a>(
    transform: Option<&Transform>,
    text: &'a [u8],
    work: &'a mut Vec<u8>,
) -> &'a [u8] {
    let Some(transform) = transform else { return text };
    work.clear();
    transform.push(text, usize::MAX, work);
    work
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn without_hyphens() -> Transform {
        Transform::of(|byte| match byte as u8 {
            b'-' => None,
            byte => Some(byte.to_ascii_uppercase()),
        })
    }

    proptest! {
        #[test]
        fn texts_compare_as_what_is_left_of_them(
            same in "[aAb -]{0,20}",
            a in "[aA -]{0,20}",
            b in "[aA -]{0,20}",
        ) {
            let transform = without_hyphens();
            let [a, b] = [a, b].map(|end| format!("{same}{end}").into_bytes());
            let [left_a, left_b] = [&a, &b].map(|text| transform.bytes(text).collect::<Vec<u8>>());
            prop_assert_eq!(transform.compare(&a, &b), left_a.cmp(&left_b));
        }

        #[test]
        fn what_counts_is_copied_and_appended(
            text in "[aA\\x01-]{0,90}",
            skip in 0..50usize,
            limit in 0..100usize,
        ) {
            let (transform, text) = (without_hyphens(), text.as_bytes());
            let all: Vec<u8> = transform.bytes(text).collect();
            let mut out = [7; 16];
            let copied = transform.copy(text, skip, &mut out);
            let end = all.len().min(skip + out.len());
            prop_assert_eq!(copied, Copied { bytes: end, has_escaped: all[..end].contains(&1) });
            let own = &all[skip.min(end)..end];
            prop_assert_eq!(&out[..own.len()], own);
            prop_assert!(out[own.len()..].iter().all(|&byte| byte == 0));
            let mut pushed = b"before".to_vec();
            let has_escaped = transform.push(text, limit, &mut pushed);
            let own = &all[..all.len().min(limit)];
            prop_assert_eq!(&pushed[6..], own);
            prop_assert!(has_escaped || !own.contains(&1));
        }
    }
}
