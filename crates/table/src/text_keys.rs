//! Keys of texts that don't come from rows of text: columns of files that say what texts they have.

use crate::key::{KeyColumn, KeyKind};
use crate::on_bad::OnBad;
use crate::value::{FieldWork, Pushed, push_value};
use crate::{Collator, Column};

/// Makes keys of texts, all of one type.
pub struct TextKeys<'c> {
    key: KeyColumn,
    work: FieldWork<'c>,
    out: Vec<u8>,
}

/// A text isn't of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadText;

impl<'c> TextKeys<'c> {
    /// Makes ascending keys of a type other than [`KeyKind::Json`]. The collator orders texts of
    /// the type [`KeyKind::Locale`].
    pub fn new(kind: KeyKind, collator: &'c Collator) -> TextKeys<'c> {
        let column = Column::Number(1);
        let key = KeyColumn::new(column, kind);
        TextKeys { key, work: FieldWork::new(collator), out: Vec::new() }
    }

    /// Returns the key of a text: bytes that compare as the values do. An empty text of a type that
    /// isn't one of texts has none.
    ///
    /// # Errors
    /// If the text isn't of the type.
    pub fn key(&mut self, text: &[u8]) -> Result<Option<&[u8]>, BadText> {
        self.out.clear();
        match push_value(&mut self.out, &self.key, Some(text), OnBad::Refuse, &mut self.work) {
            Pushed::Value => Ok(Some(&self.out)),
            Pushed::Nothing => Ok(None),
            Pushed::Bad => Err(BadText),
        }
    }
}
