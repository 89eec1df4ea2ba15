//! A key made of any list of fields, types and directions.
//!
//! Each field is turned into bytes whose unsigned order is the field's order, and the bytes of all fields are
//! concatenated, the most significant field first. Every field has one length, so that no separators are needed.
//!
//! | field | its normalised bytes |
//! |---|---|
//! | bytes | themselves |
//! | unsigned integer | big-endian |
//! | signed integer | big-endian, sign bit flipped: the negative half moves below the positive one |
//! | float | big-endian; sign bit flipped if it is clear, all bits flipped if it is set |
//! | descending | the complement of the above |
//!
//! The float encoding is the one that makes [`f64::total_cmp`] an integer comparison: IEEE 754 numbers of one sign are ordered
//! like their bit patterns, negative ones the other way round.

use std::cmp::Ordering;

use crate::key_field::{Endian, Integer};
use crate::plain_key::word_of;
use crate::{Key, KeyField, KeyKind};

/// A field together with its place in the normalised key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedField {
    offset: usize,
    length: usize,
    /// Where the field's bytes begin in the normalised key.
    start: usize,
    code: Code,
    descending: bool,
}

/// How a field's value is read and brought into unsigned order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Bytes,
    Unsigned(Integer),
    Signed(Integer),
    Float(Integer),
}

impl PlacedField {
    /// Places `field`, whose length its kind must allow, at byte `start` of the normalised key.
    pub(crate) fn new(field: &KeyField, start: usize) -> PlacedField {
        let integer = |endian: Endian| {
            Integer::of_width(field.length, endian).expect("the layout has checked the lengths of its fields")
        };
        let code = match field.kind {
            KeyKind::Bytes => Code::Bytes,
            KeyKind::Unsigned(endian) => Code::Unsigned(integer(endian)),
            KeyKind::Signed(endian) => Code::Signed(integer(endian)),
            KeyKind::Float(endian) => Code::Float(integer(endian)),
        };
        PlacedField { offset: field.offset, length: field.length, start, code, descending: field.descending }
    }

    #[inline]
    fn end(&self) -> usize {
        self.start + self.length
    }

    #[inline]
    fn slice<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        &record[self.offset..self.offset + self.length]
    }

    /// The number whose big-endian bytes are the field's normalised bytes, with the integer that says how many; `None` for strings.
    /// Bits above the field's width are arbitrary.
    #[inline]
    fn number(&self, record: &[u8]) -> Option<(Integer, u128)> {
        let (integer, value) = match self.code {
            Code::Bytes => return None,
            Code::Unsigned(integer) => (integer, integer.read(record, self.offset)),
            Code::Signed(integer) => (integer, integer.read(record, self.offset) ^ sign_bit(integer)),
            Code::Float(integer) => {
                let bits = integer.read(record, self.offset);
                let sign = sign_bit(integer);
                (integer, if bits & sign == 0 { bits ^ sign } else { !bits })
            }
        };
        Some((integer, if self.descending { !value } else { value }))
    }

    /// The word of the field's normalised bytes from `at` (inside the field) on, zero past its end.
    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        if let Some((integer, value)) = self.number(record) {
            return integer.word(value, at);
        }
        let word = word_of(record, self.offset, self.length, at);
        if !self.descending {
            return word;
        }
        let left = self.length - at;
        if left >= 8 { !word } else { !word & !(u64::MAX >> (8 * left)) }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match (self.number(a), self.number(b)) {
            (Some((integer, a)), Some((_, b))) => {
                let unused_bits = 128 - 8 * integer.width() as u32;
                (a << unused_bits).cmp(&(b << unused_bits))
            }
            _ if self.descending => self.slice(b).cmp(self.slice(a)),
            _ => self.slice(a).cmp(self.slice(b)),
        }
    }

    /// Orders the field of `record` against normalised bytes of the field's length.
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        if let Some((integer, value)) = self.number(record) {
            let unused_bits = 128 - 8 * integer.width() as u32;
            let encoded = integer.with_endian(Endian::Big).read(encoded, 0);
            return (value << unused_bits).cmp(&(encoded << unused_bits));
        }
        if self.descending {
            self.slice(record).iter().map(|byte| !byte).cmp(encoded.iter().copied())
        } else {
            self.slice(record).cmp(encoded)
        }
    }

    fn encode(&self, record: &[u8], out: &mut [u8]) {
        if let Some((integer, value)) = self.number(record) {
            integer.write_big(value, out);
            return;
        }
        out.copy_from_slice(self.slice(record));
        if self.descending {
            out.iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

#[inline]
fn sign_bit(integer: Integer) -> u128 {
    1 << (8 * integer.width() - 1)
}

/// The key of a [`crate::Layout`] of any fields; lent by [`crate::Layout::rule`].
///
/// Costs a short loop over the fields for each word, so [`crate::PlainKey`] and [`crate::LittleKey`] are used where they can be.
#[derive(Clone, Copy, Debug)]
pub struct FieldsKey<'a> {
    fields: &'a [PlacedField],
    bytes: usize,
}

impl<'a> FieldsKey<'a> {
    /// The key of `fields`, which lie without gaps in the normalised key.
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
            // Bytes of the word that earlier fields have filled; a field that begins past the word ends the loop.
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
