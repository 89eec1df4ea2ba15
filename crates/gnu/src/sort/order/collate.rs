//! Text ordered by the rules of a language, as the C library has them.
//!
//! The C library takes a NUL for the end of the text, so text that has some is compared part by
//! part.

use std::cmp::Ordering;
use std::sync::Arc;

use super::c_text::c_text;
use crate::locale::Locale;
use crate::sys::Handle;

/// The rules of a locale's language.
#[derive(Clone, Debug)]
pub(super) struct Language {
    handle: Arc<Handle>,
}

impl Language {
    pub(super) fn new(locale: &Locale) -> Self {
        Self { handle: Arc::clone(&locale.handle) }
    }

    /// Orders two texts; the empty one is first. `work` is for copies.
    pub(super) fn compare(&self, a: &[u8], b: &[u8], work: [&mut Vec<u8>; 2]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        if a.is_empty() || b.is_empty() {
            return a.len().cmp(&b.len());
        }
        let (mut a, mut b) = (Some(a), Some(b));
        let [work_a, work_b] = work;
        while let (Some(text_a), Some(text_b)) = (a, b) {
            let order = self.handle.collate(c_text(text_a, work_a), c_text(text_b, work_b));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (after_nul(text_a), after_nul(text_b));
        }
        a.is_some().cmp(&b.is_some())
    }

    /// Appends the beginning of a key of `text`, and its end: what `strxfrm` makes of the base
    /// letters of the text up to its first NUL. (glibc puts a 1 after them, and accents, case and
    /// punctuation after it.)
    ///
    /// The rest is left to `compare`, because glibc's `strxfrm` and `strcoll` contradict each other
    /// there: with en_US.UTF-8 `strcoll` has "$_E(" before "$e", `strxfrm` after it; in 12 of a
    /// million random pairs of short texts, and in none of 18 million if only the base letters are
    /// compared (glibc 2.36).
    pub(super) fn encode_base(&self, text: &[u8], work: &mut Vec<u8>, out: &mut Vec<u8>) {
        let start = out.len();
        self.handle.transform(c_text(text, work), out);
        let base = memchr::memchr(1, &out[start..]).unwrap_or(out.len() - start);
        out.truncate(start + base);
        out.push(0);
    }

    /// Appends what `strxfrm` makes of each part of the text, ended by NUL; nothing for an empty
    /// one at the end.
    pub(super) fn transform_all(&self, text: &[u8], work: &mut Vec<u8>, out: &mut Vec<u8>) {
        let mut rest = Some(text).filter(|text| !text.is_empty());
        while let Some(text) = rest {
            self.handle.transform(c_text(text, work), out);
            out.push(0);
            rest = after_nul(text).filter(|text| !text.is_empty());
        }
    }
}

/// What follows the first NUL, if there is one.
fn after_nul(text: &[u8]) -> Option<&[u8]> {
    memchr::memchr(0, text).map(|at| &text[at + 1..])
}
