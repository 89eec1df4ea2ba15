//! `-R`: equal keys together, otherwise in an order that depends on 16 random bytes.
//!
//! The key is the MD5 of the random bytes and the text. This is GNU sort's choice, so the same
//! random source gives the same order. If the locale has a language, it hashes `strxfrm`'s key of
//! each part of the text up to a NUL, and a NUL.

use std::cmp::Ordering;

use md5::{Digest, Md5};

use crate::collation::Language;
use crate::locale::{Collation, Locale};

/// A random order.
#[derive(Clone, Debug)]
pub(super) struct Random {
    seeded: Md5,
    collation: Collation,
    language: Language,
}

impl Random {
    pub(super) fn new(seed: [u8; 16], locale: &Locale) -> Self {
        Self {
            seeded: Md5::new_with_prefix(seed),
            collation: locale.collation,
            language: locale.language.clone(),
        }
    }

    /// The key of `text`.
    pub(super) fn key(
        &self,
        text: &[u8],
        work: &mut Vec<u8>,
        transformed: &mut Vec<u8>,
    ) -> [u8; 16] {
        let mut hash = self.seeded.clone();
        match self.collation {
            Collation::Bytes => hash.update(text),
            Collation::CodePoints => {
                hash.update(text);
                // The NUL of the last part, if that isn't empty.
                if text.last().is_some_and(|&byte| byte != 0) {
                    hash.update([0]);
                }
            }
            Collation::Language => {
                transformed.clear();
                self.language.transform_all(text, work, transformed);
                hash.update(&transformed);
            }
        }
        hash.finalize().into()
    }

    /// Orders texts of one key. They are equal, unless MD5 has been broken or the text was
    /// transformed.
    pub(super) fn compare_ties(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.collation == Collation::Bytes { a.cmp(b) } else { Ordering::Equal }
    }
}
