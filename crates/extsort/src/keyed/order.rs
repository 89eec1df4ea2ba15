//! The order of keyed records, by the bytes of their keys.

use super::encode::{CODE, END_BYTES, key_bytes};
use crate::lines::LineOrder;
use std::cmp::Ordering;
use xsort_kernels::lines::{MASK_BYTES, shared_bytes};

/// Compares keyed records by their keys. Those with equal keys keep the order of the input.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByKey;

impl LineOrder for ByKey {
    /// The codes of a key's fields have no zeros.
    const ZEROS_END: bool = true;

    type Words = [u64; 2];

    type Scratch = ();

    /// Length up to the first code, at which two keys may differ.
    #[inline]
    fn bytes_in_words(&self, keyed: &[u8]) -> usize {
        memchr::memchr(CODE, keyed).unwrap_or(keyed.len())
    }

    #[inline]
    fn word(&self, keyed: &[u8], skip: usize, (): &mut ()) -> u64 {
        // A key that ends after the word's first bytes ends with a code of two bytes.
        let seen = &keyed[..keyed.len().min(skip + 9)];
        let key = &seen[..key_bytes(seen)];
        let Some(rest) = key.get(skip..) else { return 0 };
        let mut word = [0; 8];
        let bytes = rest.len().min(8);
        word[..bytes].copy_from_slice(&rest[..bytes]);
        u64::from_be_bytes(word)
    }

    /// Finds the key's end once for both words.
    #[inline(always)]
    fn two_words_of(&self, tail: &[u8], bytes: usize, skip: usize, scratch: &mut ()) -> [u64; 2] {
        let Some(own) = tail.get(skip..).and_then(<[u8]>::first_chunk::<16>) else {
            return [skip, skip + 8].map(|skip| self.word(&tail[..bytes], skip, scratch));
        };
        // The byte after the words tells whether the key ends there.
        let seen = &tail[..tail.len().min(MASK_BYTES.max(skip + 17))];
        let end = key_bytes(seen).min(bytes);
        let (words, _) = own.as_chunks::<8>();
        let [high, low] = [words[0], words[1]].map(u64::from_be_bytes);
        match end.saturating_sub(skip) {
            own @ ..8 => [high & !(u64::MAX >> (8 * own)), 0],
            own @ 8..16 => [high, low & !(u64::MAX >> (8 * (own - 8)))],
            _ => [high, low],
        }
    }

    /// Every key has an end, so the first byte in which two records differ decides if it is before
    /// the end of the keys.
    #[inline]
    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        let shared = shared_bytes(a, b);
        let seen = &a[..a.len().min(MASK_BYTES.max(shared))];
        let is_over = key_bytes(seen) + END_BYTES <= shared;
        if is_over { Ordering::Equal } else { a[shared..].cmp(&b[shared..]) }
    }

    #[inline]
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut ()) -> bool {
        self.compare(a, b, scratch) == Ordering::Equal
    }

    fn is_exact(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::{KeyWriter, end_key, push_record};
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_and_comparisons_are_those_of_the_keys(
            texts in vec((vec(0u8..4, 0..20), vec(0u8..4, 0..4)), 2),
            skip in 0usize..24,
        ) {
            let keyed: Vec<Vec<u8>> = texts.iter().map(|(text, record)| {
                let mut out = Vec::new();
                KeyWriter { out: &mut out, is_descending: false }.text(text);
                end_key(&mut out);
                push_record(&mut out, record, b"");
                out.pop();
                out
            }).collect();
            let [a, b] = [&keyed[0], &keyed[1]];
            prop_assert_eq!(ByKey.compare(a, b, &mut ()), texts[0].0.cmp(&texts[1].0));
            for keyed in [a, b] {
                let mut padded = keyed[..key_bytes(keyed)].to_vec();
                padded.resize(64, 0);
                let word = |at: usize| u64::from_be_bytes(padded[at..at + 8].try_into().unwrap());
                prop_assert_eq!(ByKey.word(keyed, skip, &mut ()), word(skip));
                let mut tail = keyed.clone();
                for behind in [0, 9, 90] {
                    tail.resize(keyed.len() + behind, 1);
                    let words = ByKey.two_words_of(&tail, keyed.len(), skip, &mut ());
                    prop_assert_eq!(words, [word(skip), word(skip + 8)]);
                }
            }
        }
    }
}
