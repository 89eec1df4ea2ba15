//! Keys of text by the rules of a language, for those who sort other things than lines.

use std::fmt;

use crate::collation::{Language, Work};
use crate::locale::{Collation, Locale};

/// Makes keys of texts whose bytes are in the order of a locale's language. The default is the
/// order of bytes.
///
/// Its `Debug` text has the locale's name only: the same for the same order.
#[derive(Clone, Default)]
pub struct Collator {
    /// None if text is in the order of its bytes.
    language: Option<(Language, String)>,
}

/// Work memory for [`Collator::encode`]: one for each thread.
#[derive(Debug, Default)]
pub struct CollatorScratch(Work);

impl Collator {
    /// The order of text in `locale`.
    pub fn new(locale: &Locale) -> Self {
        let has_language = locale.collation == Collation::Language;
        Self { language: has_language.then(|| (locale.language.clone(), locale.name.clone())) }
    }

    /// Appends bytes to `out` that compare as `strcoll` compares the texts (part by part, where
    /// text has NULs), and where it calls two of them equal as their bytes do. Their end isn't
    /// marked.
    ///
    /// Where the locale's tables can't be used ([`Collator::is_exact`]), by `strxfrm` in the place
    /// of `strcoll`, which it contradicts in a few of a million pairs.
    pub fn encode(&self, text: &[u8], scratch: &mut CollatorScratch, out: &mut Vec<u8>) {
        if let Some((language, _)) = &self.language {
            language.encode_whole(text, &mut scratch.0, out);
        }
        out.extend_from_slice(text);
    }

    /// Whether the order is exactly `strcoll`'s: of all locales of glibc that we know.
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
