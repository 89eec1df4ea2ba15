//! The verifier's own comparison of keys: it decodes numbers and compares them as numbers, and
//! strings as strings.
//!
//! It deliberately shares nothing with the [`crate::Key`] implementations that the sort uses, so
//! that an error in their encoding is detected. It is a nanosecond or two slower, and simple enough
//! to check by reading.

use std::cmp::Ordering;

use crate::{Endian, KeyField, KeyKind};

/// The outcomes of comparing each record with its predecessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OrderCounts {
    /// Number of records whose key is smaller than the predecessor's.
    pub(crate) unordered: u64,
    /// Index of the first such record, counted from the first record that was compared with its
    /// predecessor.
    pub(crate) first_unordered: Option<u64>,
    /// Number of records whose key equals the predecessor's.
    pub(crate) duplicates: u64,
}

impl OrderCounts {
    pub(crate) fn count(&mut self, index: usize, to_previous: Ordering) {
        match to_previous {
            Ordering::Less => {
                self.unordered += 1;
                self.first_unordered = self.first_unordered.or(Some(index as u64));
            }
            Ordering::Equal => self.duplicates += 1,
            Ordering::Greater => {}
        }
    }
}

/// Defines the methods that return a summary's figures, from its `counts` and its `checksum`.
macro_rules! summary_figures {
    () => {
        /// Number of records.
        #[must_use]
        pub fn records(&self) -> u64 {
            self.checksum.records()
        }

        /// Number of records whose key is smaller than the predecessor's.
        #[must_use]
        pub fn unordered(&self) -> u64 {
            self.counts.unordered
        }

        /// Index of the first record whose key is smaller than the predecessor's. The first record
        /// has index 0.
        #[must_use]
        pub fn first_unordered(&self) -> Option<u64> {
            self.counts.first_unordered
        }

        /// Number of records whose key equals the predecessor's.
        #[must_use]
        pub fn duplicates(&self) -> u64 {
            self.counts.duplicates
        }

        /// The checksum of all records.
        #[must_use]
        pub fn checksum(&self) -> Checksum {
            self.checksum
        }
    };
}
pub(crate) use summary_figures;

/// Compares records `a` and `b` by all fields.
pub(crate) fn compare(fields: &[KeyField], a: &[u8], b: &[u8]) -> Ordering {
    for field in fields {
        let order = compare_field(field, a, b);
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Compares each record of `records` except the first with its predecessor.
pub(crate) fn scan(fields: &[KeyField], records: &[u8], record_bytes: usize) -> OrderCounts {
    match *fields {
        // The usual case, without reading the field's description for each record.
        [KeyField { offset, length, kind: KeyKind::Bytes, descending: false }] => {
            let key = offset..offset + length;
            neighbours(records, record_bytes, |a, b| a[key.clone()].cmp(&b[key.clone()]))
        }
        _ => neighbours(records, record_bytes, |a, b| compare(fields, a, b)),
    }
}

#[inline]
fn neighbours(
    records: &[u8],
    record_bytes: usize,
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
) -> OrderCounts {
    let mut counts = OrderCounts::default();
    let mut all = records.chunks_exact(record_bytes);
    let Some(mut previous) = all.next() else { return counts };
    for (index, record) in all.enumerate() {
        counts.count(index, compare(record, previous));
        previous = record;
    }
    counts
}

/// True if a record of varying length is too short for a number in its key.
pub(crate) fn ends_before(field: &KeyField, record: &[u8]) -> bool {
    field.kind != KeyKind::Bytes && record.len() < field.offset.saturating_add(field.length)
}

/// Compares records `a` and `b` by all fields; by all their bytes if there are no fields. Neither
/// may [end before](ends_before) a field.
pub(crate) fn compare_varying(fields: &[KeyField], a: &[u8], b: &[u8]) -> Ordering {
    if fields.is_empty() {
        return a.cmp(b);
    }
    let order =
        |field: &KeyField| compare_values(field, part_of_field(field, a), part_of_field(field, b));
    fields.iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The part of a field that a record of varying length has.
fn part_of_field<'r>(field: &KeyField, record: &'r [u8]) -> &'r [u8] {
    let end = field.offset.saturating_add(field.length).min(record.len());
    record.get(field.offset..end).unwrap_or_default()
}

fn compare_field(field: &KeyField, a: &[u8], b: &[u8]) -> Ordering {
    compare_values(field, field_bytes(field, a), field_bytes(field, b))
}

/// Compares the bytes of a field.
fn compare_values(field: &KeyField, a: &[u8], b: &[u8]) -> Ordering {
    let ascending = match field.kind {
        KeyKind::Bytes => a.cmp(b),
        KeyKind::Unsigned(endian) => unsigned(a, endian).cmp(&unsigned(b, endian)),
        KeyKind::Signed(endian) => signed(a, endian).cmp(&signed(b, endian)),
        KeyKind::Float(endian) => float_order(a, b, endian),
        KeyKind::Number(endian) => {
            return optional_order(number(a, endian), number(b, endian), field.descending);
        }
        KeyKind::Time(endian) => {
            return optional_order(time(a, endian), time(b, endian), field.descending);
        }
    };
    if field.descending { ascending.reverse() } else { ascending }
}

fn field_bytes<'r>(field: &KeyField, record: &'r [u8]) -> &'r [u8] {
    &record[field.offset..field.offset + field.length]
}

/// The number that `bytes` (16 at most) encode.
fn unsigned(bytes: &[u8], endian: Endian) -> u128 {
    let mut wide = [0; 16];
    match endian {
        Endian::Little => {
            wide[..bytes.len()].copy_from_slice(bytes);
            u128::from_le_bytes(wide)
        }
        Endian::Big => {
            wide[16 - bytes.len()..].copy_from_slice(bytes);
            u128::from_be_bytes(wide)
        }
    }
}

fn signed(bytes: &[u8], endian: Endian) -> i128 {
    let above = 128 - 8 * bytes.len() as u32;
    (unsigned(bytes, endian) << above) as i128 >> above
}

fn float_order(a: &[u8], b: &[u8], endian: Endian) -> Ordering {
    if a.len() == 4 {
        let float = |bytes| f32::from_bits(unsigned(bytes, endian) as u32);
        float(a).total_cmp(&float(b))
    } else {
        let float = |bytes| f64::from_bits(unsigned(bytes, endian) as u64);
        float(a).total_cmp(&float(b))
    }
}

/// The value of a float of 2, 4 or 8 bytes; `None` for a NaN.
fn number(bytes: &[u8], endian: Endian) -> Option<f64> {
    let bits = unsigned(bytes, endian);
    let value = match bytes.len() {
        2 => half(bits as u16),
        4 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits as u64),
    };
    (!value.is_nan()).then_some(value)
}

/// The value of a float of 16 bits: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

/// A time of 8 bytes; `None` if it is missing.
fn time(bytes: &[u8], endian: Endian) -> Option<i128> {
    Some(signed(bytes, endian)).filter(|&time| time != i128::from(i64::MIN))
}

/// Compares values. A missing value comes after all others.
fn optional_order<T: PartialOrd>(a: Option<T>, b: Option<T>, descending: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => {
            let ascending = a.partial_cmp(&b).expect("values have an order");
            if descending { ascending.reverse() } else { ascending }
        }
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}
