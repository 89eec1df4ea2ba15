//! Keys of text by the rules of a language, for data other than lines.

use std::fmt;

use crate::collation::{Language, Work};
use crate::locale::{Collation, Locale};

/// Builds keys of texts that compare byte by byte in the order of a locale's language. The default
/// is the order of bytes.
///
/// Its `Debug` text has only the locale's name, so it is equal for equal orders.
#[derive(Clone, Default)]
pub struct Collator {
    /// `None` if text is in the order of its bytes.
    language: Option<(Language, String)>,
}

/// Work memory for [`Collator::encode`], one per thread.
#[derive(Debug, Default)]
pub struct CollatorScratch(Work);

impl Collator {
    /// The order of text in `locale`.
    pub fn new(locale: &Locale) -> Self {
        let has_language = locale.collation == Collation::Language;
        Self { language: has_language.then(|| (locale.language.clone(), locale.name.clone())) }
    }

    /// Appends a key to `out`. Keys compare as `strcoll` compares the texts (part by part, if text
    /// has NULs), and bytewise for texts that it calls equal. Their end isn't marked.
    ///
    /// If the locale's tables can't be used (see [`Collator::is_exact`]), `strxfrm` replaces
    /// `strcoll`, which it contradicts in a few of a million pairs.
    pub fn encode(&self, text: &[u8], scratch: &mut CollatorScratch, out: &mut Vec<u8>) {
        if let Some((language, _)) = &self.language {
            language.encode_whole(text, &mut scratch.0, out);
        }
        out.extend_from_slice(text);
    }

    /// True if the order is exactly `strcoll`'s, which holds for all known locales of glibc.
    pub fn is_exact(&self) -> bool {
        self.language.as_ref().is_none_or(|(language, _)| language.is_exact())
    }
}

impl fmt::Debug for Collator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.language.as_ref().map_or("bytes", |(_, name)| name);
        f.debug_tuple("Collator").field(&name).finish()
    }
}
