//! The layout of records: their size and the fields of their key, validated once.

use crate::fields_key::PlacedField;
use crate::{Endian, FieldsKey, KeyField, KeyKind, KeyRule, LittleKey, PlainKey};

/// Maximum size of a record in bytes: 16 MiB.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// The size of records, and the fields of their key, the most significant first.
///
/// Every field lies inside the record and has a length that its kind allows. Fields may overlap,
/// and a field may appear twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    record_bytes: usize,
    fields: Vec<KeyField>,
    placed: Vec<PlacedField>,
}

/// The error for an invalid layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Records of zero bytes, or too many.
    #[error(
        "a record of {record_bytes} bytes: give a size from 1 to {RECORD_BYTES_MAX} bytes (16 MiB)"
    )]
    RecordBytes {
        /// The requested size.
        record_bytes: usize,
    },
    /// A key without fields.
    #[error("a key needs at least one field, for instance 0:10 for the first ten bytes")]
    NoField,
    /// A field of zero bytes, or of a length that its type does not allow.
    #[error("key field {field}: its type has a length of {}", lengths(field.kind))]
    FieldLength {
        /// The invalid field.
        field: KeyField,
    },
    /// A field that ends after the record.
    #[error(
        "key field {field} ends past the record of {record_bytes} bytes: OFFSET + LENGTH must be \
         at most {record_bytes}"
    )]
    FieldOutside {
        /// The invalid field.
        field: KeyField,
        /// Size of the records in bytes.
        record_bytes: usize,
    },
    /// A key that is longer than memory can address.
    #[error("the fields of the key are longer together than memory can address: use fewer of them")]
    KeyBytes,
}

/// The lengths of a kind in words, for error messages.
pub(crate) fn lengths(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Bytes => "at least one byte",
        KeyKind::Unsigned(_) | KeyKind::Signed(_) => "1, 2, 4, 8 or 16 bytes",
        KeyKind::Float(_) => "4 or 8 bytes",
        KeyKind::Number(_) => "2, 4 or 8 bytes",
        KeyKind::Time(_) => "8 bytes",
    }
}

impl Layout {
    /// The layout of records of `record_bytes` bytes (1 to [`RECORD_BYTES_MAX`]), ordered by
    /// `fields`.
    ///
    /// # Errors
    /// If there is no field, or if a field has an invalid length or isn't inside the record.
    pub fn new(record_bytes: usize, fields: Vec<KeyField>) -> Result<Layout, LayoutError> {
        if !(1..=RECORD_BYTES_MAX).contains(&record_bytes) {
            return Err(LayoutError::RecordBytes { record_bytes });
        }
        if fields.is_empty() {
            return Err(LayoutError::NoField);
        }
        let mut placed = Vec::with_capacity(fields.len());
        let mut start: usize = 0;
        for &field in &fields {
            let allowed =
                field.kind.lengths().map_or(field.length > 0, |list| list.contains(&field.length));
            if !allowed {
                return Err(LayoutError::FieldLength { field });
            }
            if field.offset.checked_add(field.length).is_none_or(|end| end > record_bytes) {
                return Err(LayoutError::FieldOutside { field, record_bytes });
            }
            placed.push(PlacedField::new(&field, start));
            start = start.checked_add(field.length).ok_or(LayoutError::KeyBytes)?;
        }
        Ok(Layout { record_bytes, fields, placed })
    }

    /// Size of a record in bytes.
    #[must_use]
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// Length of the normalised key in bytes: the sum of all fields' lengths.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.fields.iter().map(|field| field.length).sum()
    }

    /// The fields of the key, the most significant first; at least one.
    #[must_use]
    pub fn fields(&self) -> &[KeyField] {
        &self.fields
    }

    /// The cheapest rule that orders these records. Contiguous ascending strings and big-endian
    /// numbers are one [`PlainKey`]; a single unsigned little-endian number is a [`LittleKey`].
    #[must_use]
    pub fn rule(&self) -> KeyRule<'_> {
        if let Some(plain) = self.plain() {
            return KeyRule::Plain(plain);
        }
        match self.fields[..] {
            [
                KeyField {
                    offset,
                    length,
                    kind: KeyKind::Unsigned(Endian::Little),
                    descending: false,
                },
            ] => KeyRule::Little(LittleKey::new(offset, length)),
            _ => KeyRule::Fields(FieldsKey::new(&self.placed)),
        }
    }

    /// The key as one range of bytes, if possible.
    fn plain(&self) -> Option<PlainKey> {
        let offset = self.fields[0].offset;
        let mut end = offset;
        for field in &self.fields {
            let as_bytes = match field.kind {
                KeyKind::Bytes | KeyKind::Unsigned(Endian::Big) => true,
                KeyKind::Unsigned(Endian::Little) => field.length == 1,
                KeyKind::Signed(_) | KeyKind::Float(_) | KeyKind::Number(_) | KeyKind::Time(_) => {
                    false
                }
            };
            if !as_bytes || field.descending || field.offset != end {
                return None;
            }
            end += field.length;
        }
        Some(PlainKey::new(offset, end - offset))
    }
}
