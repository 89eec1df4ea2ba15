//! A key of any list of fields, types and directions.
//!
//! Each field is encoded as bytes whose unsigned order is the field's order. The bytes of all
//! fields are concatenated, the most significant field first. Every field has a fixed length, so no
//! separators are needed.
//!
//! | field | its normalised bytes |
//! |---|---|
//! | bytes | themselves |
//! | unsigned integer | big-endian |
//! | signed integer | big-endian, sign bit flipped, so that negative numbers come first |
//! | float | big-endian; sign bit flipped if it is clear, all bits flipped if it is set |
//! | descending | the complement of the above |
//!
//! The float encoding turns [`f64::total_cmp`] into an integer comparison: IEEE 754 numbers with
//! the same sign are ordered like their bit patterns, negative ones in reverse.

use std::cmp::Ordering;

use crate::little_key::{narrow, wide, word_of_wide};
use crate::plain_key::word_of;
use crate::{Endian, Key, KeyField, KeyKind};

/// A field with its place in the normalised key.
///
/// A number is read into the upper bytes of a word, where its top bit is the sign, if it has one.
/// Each encoding in the table above is then one XOR with one of two constants, chosen by the top
/// bit. So no record needs a branch on the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedField {
    offset: usize,
    length: usize,
    /// Offset of the field's bytes in the normalised key.
    start: usize,
    shape: Shape,
    little: bool,
    descending: bool,
    missing: Missing,
    /// The bits to flip in a number whose top bit is clear, and in one whose top bit is set. Narrow
    /// numbers use the lower 64 bits.
    flips: [u128; 2],
}

/// How a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A string.
    Bytes,
    /// A number of up to 8 bytes, in the upper bytes of a word.
    Narrow,
    /// A number of 16 bytes.
    Wide,
}

/// The values that count as missing. They come last in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// None: all values are numbers.
    Never,
    /// Floats above this magnitude (without its sign, at the top of a word). Then -0 equals +0.
    Beyond(u64),
    /// The smallest value, in an ascending field. (In a descending field it is last anyway.)
    Least,
}

impl Missing {
    fn new(field: &KeyField) -> Missing {
        match (field.kind, field.length) {
            // Bits of infinity.
            (KeyKind::Number(_), 2) => Missing::Beyond(0xf800 << 48),
            (KeyKind::Number(_), 4) => Missing::Beyond(0xff00_0000 << 32),
            (KeyKind::Number(_), _) => Missing::Beyond(0xffe0_0000_0000_0000),
            (KeyKind::Time(_), _) if !field.descending => Missing::Least,
            _ => Missing::Never,
        }
    }
}

impl PlacedField {
    /// Places `field` at byte `start` of the normalised key. The field's kind must allow its
    /// length.
    pub(crate) fn new(field: &KeyField, start: usize) -> PlacedField {
        let KeyField { offset, length, kind, descending } = *field;
        let shape = match (kind, length) {
            (KeyKind::Bytes, _) => Shape::Bytes,
            (_, 1..=8) => Shape::Narrow,
            _ => Shape::Wide,
        };
        // All bits of the number, and its top bit, in a word of 64 or 128 bits.
        let word_bits = if length <= 8 { 64 } else { 128 };
        let word = u128::MAX >> (128 - word_bits);
        let all = if length <= 8 { word & word << (64 - 8 * length) } else { word };
        let top = 1 << (word_bits - 1);
        let ascending = match kind {
            KeyKind::Bytes | KeyKind::Unsigned(_) => [0, 0],
            KeyKind::Signed(_) | KeyKind::Time(_) => [top, top],
            KeyKind::Float(_) | KeyKind::Number(_) => [top, all],
        };
        let flips = ascending.map(|flip| if descending { flip ^ all } else { flip });
        let little = match kind {
            KeyKind::Bytes => false,
            KeyKind::Unsigned(endian)
            | KeyKind::Signed(endian)
            | KeyKind::Float(endian)
            | KeyKind::Number(endian)
            | KeyKind::Time(endian) => endian == Endian::Little,
        };
        let missing = Missing::new(field);
        PlacedField { offset, length, start, shape, little, descending, missing, flips }
    }

    #[inline]
    fn end(&self) -> usize {
        self.start + self.length
    }

    #[inline]
    fn slice<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        &record[self.offset..self.offset + self.length]
    }

    /// The normalised bytes of a narrow number, at the top of a word.
    #[inline]
    fn narrow(&self, record: &[u8]) -> u64 {
        let number = if self.little {
            narrow(record, self.offset, self.length)
        } else {
            word_of(record, self.offset, self.length, 0)
        };
        let flipped = |number: u64| number ^ self.flips[(number >> 63) as usize] as u64;
        match self.missing {
            Missing::Never => flipped(number),
            Missing::Beyond(magnitude) if number << 1 > magnitude => {
                u64::MAX << (64 - 8 * self.length)
            }
            Missing::Beyond(_) if number << 1 == 0 => flipped(0),
            Missing::Beyond(_) => flipped(number),
            Missing::Least => flipped(number).wrapping_sub(1),
        }
    }

    /// The normalised bytes of a wide number.
    #[inline]
    fn wide(&self, record: &[u8]) -> u128 {
        let read = wide(record, self.offset);
        let number = if self.little { read } else { read.swap_bytes() };
        number ^ self.flips[(number >> 127) as usize]
    }

    /// The word of the field's normalised bytes from `at` (inside the field) on, zero past its end.
    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        match self.shape {
            Shape::Narrow => self.narrow(record) << (8 * at),
            Shape::Wide => word_of_wide(self.wide(record), at),
            Shape::Bytes => {
                let word = word_of(record, self.offset, self.length, at);
                let left = self.length - at;
                match self.descending {
                    false => word,
                    true if left >= 8 => !word,
                    true => !word & !(u64::MAX >> (8 * left)),
                }
            }
        }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.shape {
            Shape::Narrow => self.narrow(a).cmp(&self.narrow(b)),
            Shape::Wide => self.wide(a).cmp(&self.wide(b)),
            Shape::Bytes if self.descending => self.slice(b).cmp(self.slice(a)),
            Shape::Bytes => self.slice(a).cmp(self.slice(b)),
        }
    }

    /// Compares the field of `record` with normalised bytes of the field's length.
    #[inline]
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        match self.shape {
            Shape::Narrow => self.narrow(record).cmp(&word_of(encoded, 0, self.length, 0)),
            Shape::Wide => self.wide(record).cmp(&wide(encoded, 0).swap_bytes()),
            Shape::Bytes if self.descending => {
                self.slice(record).iter().map(|byte| !byte).cmp(encoded.iter().copied())
            }
            Shape::Bytes => self.slice(record).cmp(encoded),
        }
    }

    fn encode(&self, record: &[u8], out: &mut [u8]) {
        match self.shape {
            Shape::Narrow => out.copy_from_slice(&self.narrow(record).to_be_bytes()[..self.length]),
            Shape::Wide => out.copy_from_slice(&self.wide(record).to_be_bytes()),
            Shape::Bytes => {
                out.copy_from_slice(self.slice(record));
                if self.descending {
                    out.iter_mut().for_each(|byte| *byte = !*byte);
                }
            }
        }
    }
}

/// The key of a [`crate::Layout`] with any fields, borrowed by [`crate::Layout::rule`].
///
/// Each word costs a short loop over the fields, so [`crate::PlainKey`] and [`crate::LittleKey`]
/// are preferred where they suffice.
#[derive(Clone, Copy, Debug)]
pub struct FieldsKey<'a> {
    fields: &'a [PlacedField],
    bytes: usize,
}

impl<'a> FieldsKey<'a> {
    /// The key of `fields`, which must be contiguous in the normalised key.
    pub(crate) fn new(fields: &'a [PlacedField]) -> FieldsKey<'a> {
        FieldsKey { fields, bytes: fields.last().map_or(0, PlacedField::end) }
    }
}

impl Key for FieldsKey<'_> {
    #[inline]
    fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        let mut word = 0;
        for field in self.fields {
            if field.end() <= at {
                continue;
            }
            // The number of bytes of the word that earlier fields have filled. A field that begins
            // after the word ends the loop.
            let filled = field.start.saturating_sub(at);
            if filled >= 8 {
                break;
            }
            word |= field.word(record, at.saturating_sub(field.start)) >> (8 * filled);
        }
        word
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.fields
            .iter()
            .map(|field| field.compare(a, b))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        debug_assert_eq!(encoded.len(), self.bytes);
        self.fields
            .iter()
            .map(|field| field.compare_encoded(record, &encoded[field.start..field.end()]))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn encode(&self, record: &[u8], out: &mut [u8]) {
        assert_eq!(out.len(), self.bytes, "the room for a normalised key is as long as the key");
        for field in self.fields {
            field.encode(record, &mut out[field.start..field.end()]);
        }
    }
}
