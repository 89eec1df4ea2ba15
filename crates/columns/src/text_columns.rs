//! Columns of texts in an order other than that of their bytes: the keys of their values.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, LargeBinaryArray, RecordBatch};
use arrow_cast::{can_cast_types, cast};
use arrow_schema::{ArrowError, DataType, SortOptions};
use std::sync::Arc;
use xsort_arrow::SortColumn;
use xsort_table::{Collator, KeyKind, TextKeys, shown};

/// The type of keys.
pub(crate) const KEY_TYPE: DataType = DataType::LargeBinary;

/// A column of texts that are sorted by a type.
#[derive(Clone, Debug)]
pub(crate) struct TextColumn {
    pub(crate) name: String,
    pub(crate) path: Vec<usize>,
    pub(crate) options: SortOptions,
    pub(crate) kind: KeyKind,
}

impl TextColumn {
    /// Returns whether values of a type are texts, of which there can be keys.
    pub(crate) fn has_texts(data_type: &DataType) -> bool {
        can_cast_types(data_type, &KEY_TYPE)
    }

    /// Returns the keys of a batch's values. `first` is the number of its first row in the input,
    /// from 0.
    ///
    /// # Errors
    /// [`ArrowError::InvalidArgumentError`] if a value isn't of the type.
    pub(crate) fn keys(
        &self,
        batch: &RecordBatch,
        first: u64,
        collator: &Collator,
    ) -> Result<ArrayRef, ArrowError> {
        let texts = cast(&SortColumn::values_at(&self.path, batch)?, &KEY_TYPE)?;
        let mut keys = TextKeys::new(self.kind.clone(), collator);
        let mut key = |(row, text): (u64, Option<&[u8]>)| {
            let Some(text) = text else { return Ok(None) };
            let bad = |_| {
                let (name, kind) = (&self.name, self.kind.name());
                ArrowError::InvalidArgumentError(format!(
                    "row {}, column '{name}': '{}' isn't of the type {kind}",
                    first + row + 1,
                    shown(text)
                ))
            };
            keys.key(text).map(|key| key.map(<[u8]>::to_vec)).map_err(bad)
        };
        let all = (0..).zip(texts.as_binary::<i64>().iter()).map(&mut key);
        Ok(Arc::new(all.collect::<Result<LargeBinaryArray, _>>()?))
    }
}
