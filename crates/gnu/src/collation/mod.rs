//! Text ordered by the rules of a language, exactly as GNU sort does: by glibc's `strcoll`.
//!
//! `strcoll` takes most of the time of a sort, and `strxfrm`, whose keys should save its calls,
//! contradicts it. So this module reads the tables that glibc has loaded for the locale, and
//! compares as `strcoll` does. Before the first text is compared this way, a sample is compared
//! with `strcoll` itself. If the two contradict each other, or the tables are missing or in an
//! unknown form, the C library's functions do all the work, and only take longer.
//!
//! ```text
//! (this file)  which of the two                  collator   keys for others
//!     check    a sample, by both
//!     short    keys that are hardly longer than plain words
//!     codes    weights of the first level in fewer bytes
//!     levels   whole keys
//!     rules    elements of a text, their first weights
//!     rows     elements of one and two bytes, looked up at once
//!     tables   the locale's tables, every offset checked
//! c_library    strcoll and strxfrm
//! ```
//!
//! Imports only point down.

mod c_library;
mod check;
mod codes;
mod levels;
mod rows;
mod rules;
mod short;
mod tables;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use crate::c_text::compare_after_nuls;
use crate::sys::{CollationPieces, Handle};
use levels::Places;
use rules::{FirstWords, Rules};
use short::{RegularElements, ShortWork};
use tables::Tables;

/// The rules of a locale's language, loaded when text is first ordered by them.
#[derive(Clone, Debug)]
pub(crate) struct Language {
    handle: Arc<Handle>,
    rules: Arc<OnceLock<Option<Rules>>>,
    /// Built when the first short key is wanted.
    regular: Arc<OnceLock<Option<RegularElements>>>,
}

/// Work memory for a text.
#[derive(Debug, Default)]
pub(crate) struct Work {
    bytes: Vec<u8>,
    places: Places,
    short: ShortWork,
}

impl Language {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle, rules: Arc::default(), regular: Arc::default() }
    }

    #[inline]
    fn rules(&self) -> Option<&Rules> {
        self.rules.get_or_init(|| self.load()).as_ref()
    }

    #[cold]
    fn load(&self) -> Option<Rules> {
        checked(self.handle.collation()?, &self.handle)
    }

    /// True if keys are equal only for equal texts. Otherwise equal keys decide nothing.
    pub(crate) fn is_exact(&self) -> bool {
        self.rules().is_some()
    }

    /// Orders two texts; the empty one is first.
    pub(crate) fn compare(&self, a: &[u8], b: &[u8], work: [&mut Work; 2]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let Some(rules) = self.rules() else {
            return c_library::compare(&self.handle, a, b, work.map(|work| &mut work.bytes));
        };
        let [work_a, work_b] = work;
        compare_after_nuls(a, b, |a, b| {
            rules.compare_first(a, b).then_with(|| compare_rest(rules, a, b, work_a, work_b))
        })
    }

    /// Appends the key of `text`, with its end marked, at least its first `limit` bytes. The keys
    /// compare as the texts do, except that equal keys decide nothing if keys aren't exact.
    pub(crate) fn encode(&self, text: &[u8], limit: usize, work: &mut Work, out: &mut Vec<u8>) {
        match self.rules() {
            Some(rules) => rules.encode(text, limit, &mut work.places, out),
            None => c_library::encode_base(&self.handle, text, &mut work.bytes, out),
        }
    }

    /// The rules, and the elements of short keys, if the language has short keys.
    fn regular(&self) -> Option<(&Rules, &RegularElements)> {
        let rules = self.rules()?;
        let regular = self.regular.get_or_init(|| RegularElements::new(rules));
        Some((rules, regular.as_ref()?))
    }

    /// True if there are short keys.
    pub(crate) fn has_short_keys(&self) -> bool {
        self.regular().is_some()
    }

    /// True if all short keys are hardly longer than their texts.
    pub(crate) fn has_one_level(&self) -> bool {
        self.rules().is_some_and(|rules| rules.tables.levels == 1)
    }

    /// Appends a short key of the text, whose end is marked, at least its first `limit` bytes.
    /// Compare it only with other short keys. Without short keys it is the key of
    /// [`encode_whole`](Language::encode_whole).
    pub(crate) fn encode_short(
        &self,
        text: &[u8],
        limit: usize,
        work: &mut Work,
        out: &mut Vec<u8>,
    ) {
        let Some((rules, regular)) = self.regular() else {
            return self.encode_whole(text, work, out);
        };
        let Work { places, short, .. } = work;
        if !rules.encode_plain(regular, text, short, out) {
            rules.encode_any(regular, text, limit, (places, short), out);
        }
    }

    /// Appends a key of the whole text, with its end marked. If keys aren't exact, it is
    /// `strxfrm`'s.
    pub(crate) fn encode_whole(&self, text: &[u8], work: &mut Work, out: &mut Vec<u8>) {
        match self.rules() {
            Some(rules) => rules.encode(text, usize::MAX, &mut work.places, out),
            None => c_library::encode_whole(&self.handle, text, &mut work.bytes, out),
        }
    }

    /// Returns `COUNT` key words from byte `skip` on, if they are quick to compute.
    #[inline]
    pub(crate) fn words<const COUNT: usize>(
        &self,
        text: &[u8],
        skip: usize,
    ) -> Option<[u64; COUNT]> {
        // A text shorter than the words rarely has enough weights.
        let is_quick = skip.is_multiple_of(8) && text.len() >= skip.saturating_add(8 * COUNT);
        let rules = self.rules().filter(|_| is_quick)?;
        let mut first = FirstWords::new(rules, text);
        // A word that ends with a zero is the first level's last. The following ones take longer.
        for _ in 0..skip / 8 {
            if first.next() as u8 == 0 {
                return None;
            }
        }
        let words = std::array::from_fn(|_| first.next());
        (words.last().is_none_or(|&word| word as u8 != 0)).then_some(words)
    }

    /// Appends `strxfrm`'s key of each part of the text, ended by NUL. An empty part at the end
    /// adds nothing.
    pub(crate) fn transform_all(&self, text: &[u8], work: &mut Vec<u8>, out: &mut Vec<u8>) {
        c_library::transform_all(&self.handle, text, work, out);
    }
}

/// The rules of these tables, if they agree with the locale.
fn checked(pieces: CollationPieces, handle: &Handle) -> Option<Rules> {
    let rules = Rules::new(Tables::new(pieces)?);
    check::agrees(&rules, handle).then_some(rules)
}

/// Orders two texts up to their first NULs that are equal on the first level.
#[cold]
fn compare_rest(
    rules: &Rules,
    a: &[u8],
    b: &[u8],
    work_a: &mut Work,
    work_b: &mut Work,
) -> Ordering {
    rules.places(a, &mut work_a.places);
    rules.places(b, &mut work_b.places);
    if work_a.places.is_empty() || work_b.places.is_empty() {
        return work_b.places.is_empty().cmp(&work_a.places.is_empty());
    }
    for level in 1..rules.tables.levels {
        for Work { bytes, places, .. } in [&mut *work_a, &mut *work_b] {
            bytes.clear();
            rules.encode_level(level, places, bytes);
        }
        match work_a.bytes.cmp(&work_b.bytes) {
            Ordering::Equal => {}
            different => return different,
        }
    }
    Ordering::Equal
}
