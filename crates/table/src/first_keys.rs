//! The first fields of keyed rows: where they end, their order, and the number of the first one.

use crate::key::{KeyColumn, KeyKind};
use crate::number::nearest_decimal;
use crate::time::{date_seconds, time_seconds};
use crate::value::{VALUE, is_mark_of_text, is_text};
use std::cmp::Ordering;
use xsort_extsort::Error;
use xsort_extsort::keyed::{FixedBytes, text_bytes};
use xsort_extsort::lines::LineOrder;

/// How the end of a value's field is found.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Text,
    /// A number of bytes.
    Bytes(usize),
    Decimal,
    Address,
}

/// A field of a key.
#[derive(Clone, Copy, Debug)]
struct Field {
    shape: Shape,
    /// True if a mark precedes it.
    is_marked: bool,
    is_descending: bool,
}

impl Field {
    /// The field of a column; `None` for values of JSON without a type.
    fn new(key: &KeyColumn, is_json: bool) -> Option<Field> {
        use KeyKind::{
            Bits, Bool, Chromosome, Date, DateTime, Float, Integer, Ip, Json, Length, Listed,
            Locale, Natural, NoCase, Number, Text, Version,
        };
        let shape = match &key.kind {
            Text | NoCase | Locale | Natural | Chromosome | Version => Shape::Text,
            Length | Float => Shape::Bytes(8),
            Integer | Number => Shape::Decimal,
            Bool | Bits(_) => Shape::Bytes(1),
            Date | Listed(_) => Shape::Bytes(4),
            DateTime(_) => Shape::Bytes(9),
            Ip => Shape::Address,
            Json => return None,
        };
        let is_marked = is_json || key.nulls.is_some() || !is_text(&key.kind);
        Some(Field { shape, is_marked, is_descending: key.is_descending })
    }

    /// Bytes of the field that `keyed` begins with.
    fn bytes(self, keyed: &[u8]) -> usize {
        let Field { shape, is_marked, is_descending } = self;
        let (mark, value) = match keyed.split_first() {
            Some((mark, value)) if is_marked => (Some(*mark), value),
            _ => (None, keyed),
        };
        let own = match mark {
            Some(mark) if is_mark_of_text(mark) => text_bytes(value, is_descending),
            Some(mark) if mark != VALUE => 0,
            _ => shape.bytes(value, is_descending),
        };
        (keyed.len() - value.len() + own).min(keyed.len())
    }
}

impl Shape {
    fn bytes(self, value: &[u8], is_descending: bool) -> usize {
        let mut bytes = FixedBytes::new(value, is_descending);
        match self {
            Shape::Text => return text_bytes(value, is_descending),
            Shape::Bytes(count) => bytes.by_ref().take(count).for_each(drop),
            Shape::Decimal => {
                nearest_decimal(&mut bytes);
            }
            Shape::Address => {
                let is_short = bytes.next() == Some(4);
                bytes.by_ref().take(if is_short { 4 } else { 16 }).for_each(drop);
            }
        }
        bytes.taken
    }
}

/// Compares keyed rows by their first fields.
#[derive(Clone, Debug)]
pub(crate) struct ByFirstFields(Vec<Field>);

impl ByFirstFields {
    /// The order of the first keys, `keys`.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] for values of JSON without a type, whose end isn't known.
    pub(crate) fn new(keys: &[KeyColumn], is_json: bool) -> Result<ByFirstFields, Error> {
        let field = |key: &KeyColumn| {
            Field::new(key, is_json).ok_or_else(|| {
                Error::Settings(format!(
                    "{} needs a type to be sorted or grouped by first, such as {}:str or {}:int",
                    key.column, ".value", ".value"
                ))
            })
        };
        Ok(ByFirstFields(keys.iter().map(field).collect::<Result<_, _>>()?))
    }

    /// Returns the first fields of a keyed row.
    pub(crate) fn fields<'k>(&self, keyed: &'k [u8]) -> &'k [u8] {
        let end = self.0.iter().fold(0, |from, field| from + field.bytes(&keyed[from..]));
        &keyed[..end]
    }
}

impl LineOrder for ByFirstFields {
    type Words = [u64; 1];

    type Scratch = ();

    fn word(&self, _: &[u8], _: usize, (): &mut ()) -> u64 {
        0
    }

    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        self.fields(a).cmp(self.fields(b))
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut ()) -> bool {
        self.compare(a, b, scratch) == Ordering::Equal
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// The number that the first field of a keyed row stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstNumber<'k> {
    kind: &'k KeyKind,
    is_descending: bool,
}

impl<'k> FirstNumber<'k> {
    /// The number of the column `key`: seconds for dates and times.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if it has none.
    pub(crate) fn new(key: Option<&'k KeyColumn>) -> Result<FirstNumber<'k>, Error> {
        use KeyKind::{Date, DateTime, Float, Integer, Number};
        match key {
            Some(KeyColumn { kind, is_descending, .. })
                if matches!(kind, Date | DateTime(_) | Float | Integer | Number) =>
            {
                Ok(FirstNumber { kind, is_descending: *is_descending })
            }
            _ => Err(Error::Settings(
                "--within with a time needs a first key of the type datetime, date, int, num or \
                 float (numbers count as seconds): add the type, or give a number of rows"
                    .into(),
            )),
        }
    }

    /// The number of a keyed row, or its opposite where the largest come first. It never falls in
    /// the order of the rows. Infinite for a row without a value.
    pub(crate) fn of(self, keyed: &[u8]) -> f64 {
        let FirstNumber { kind, is_descending } = self;
        let value = match keyed.split_first() {
            Some((&VALUE, value)) => value,
            Some((mark, _)) if *mark < VALUE => return f64::NEG_INFINITY,
            _ => return f64::INFINITY,
        };
        let mut bytes = FixedBytes::new(value, is_descending);
        let number = match kind {
            KeyKind::Date => date_seconds(&mut bytes),
            KeyKind::DateTime(_) => time_seconds(&mut bytes),
            KeyKind::Float => float(&mut bytes),
            _ => nearest_decimal(&mut bytes),
        };
        if is_descending { -number } else { number }
    }
}

/// Reads a floating-point number. A NaN, which is at an end of the order, is infinite.
fn float(bytes: &mut impl Iterator<Item = u8>) -> f64 {
    let ordered = bytes.take(8).fold(0, |bits, byte| bits << 8 | u64::from(byte));
    let bits = if ordered >> 63 == 1 { ordered ^ 1 << 63 } else { !ordered };
    let number = f64::from_bits(bits);
    if number.is_nan() { f64::INFINITY.copysign(number) } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keys;
    use crate::on_bad::OnBad;
    use crate::value::{FieldWork, push_value};
    use xsort_extsort::keyed::{end_key, push_record};
    use xsort_gnu::Collator;

    /// A keyed row, with these values of the keys.
    fn keyed(keys: &Keys, values: &[&str]) -> Vec<u8> {
        let (mut out, collator) = (Vec::new(), Collator::default());
        let work = &mut FieldWork::new(&collator);
        let on_bad = OnBad::Put(crate::key::Place::Last);
        for (key, value) in keys.0.iter().zip(values) {
            push_value(&mut out, key, Some(value.as_bytes()), on_bad, work);
        }
        end_key(&mut out);
        push_record(&mut out, b"the row", b"\n");
        out.pop();
        out
    }

    #[test]
    fn first_fields_are_compared_whatever_follows() {
        for (kind, rising) in [
            ("str", &["", "\0", "\u{1}", "a", "a\0", "\u{fe}", "\u{ff}"][..]),
            ("str:nulls-last", &["a", "b", ""]),
            ("int", &["-1e9", "-100000000000000000000000000000000000", "-5", "0", "7", "10", "x"]),
            ("num", &["-0.5", "0", "1e-99", "0.25", "1e99", "", "bad"]),
            ("float", &["-inf", "-2", "0.0", "1", "inf", "nan", ""]),
            ("bool", &["no", "yes", ""]),
            ("date", &["1969-12-31", "2026-11-28", ""]),
            ("datetime", &["2026-11-28T00:00:00Z", "2026-11-28T00:00:00.5Z", "", "no time"]),
            ("version", &["1.9", "1.10", ""]),
            ("natural", &["a2", "a10"]),
            ("length", &["", "a", "aa"]),
            ("ip", &["9.0.0.1", "10.0.0.1", "::1", ""]),
        ] {
            for direction in ["asc", "desc"] {
                let keys: Keys = format!("a:{kind}:{direction},b:int,c").parse().unwrap();
                let order = ByFirstFields::new(&keys.0[..1], false).unwrap();
                let both = ByFirstFields::new(&keys.0[..2], false).unwrap();
                let rising = if kind == "int" { &rising[2..] } else { rising };
                for a in rising {
                    for b in rising {
                        let rows = [keyed(&keys, &[a, "1", "x"]), keyed(&keys, &[b, "2", ""])];
                        let whole =
                            xsort_extsort::keyed::ByKey.compare(&rows[0], &rows[1], &mut ());
                        let found = order.compare(&rows[0], &rows[1], &mut ());
                        let expected = if a == b { Ordering::Equal } else { whole };
                        assert_eq!(found, expected, "{kind}:{direction} {a:?} {b:?}");
                        assert_eq!(both.compare(&rows[0], &rows[1], &mut ()), whole);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_are_those_of_the_values() {
        for (kind, value, number) in [
            ("int", "-1732819200", -1_732_819_200.0),
            ("num", "1732819200.125", 1_732_819_200.125),
            ("num", "0", 0.0),
            ("num", "-0.001", -0.001),
            ("num", "1e40", 1e40),
            ("num", "12e-40", 12e-40),
            ("float", "-2.5", -2.5),
            ("float", "nan", f64::INFINITY),
            ("date", "1970-01-02", 86_400.0),
            ("date", "1969-12-31", -86_400.0),
            ("datetime", "1970-01-01T00:00:01.5Z", 1.5),
            ("datetime", "1969-12-31T23:59:59.5Z", -0.5),
        ] {
            for (direction, sign) in [("asc", 1.0), ("desc", -1.0)] {
                let keys: Keys = format!("a:{kind}:{direction}").parse().unwrap();
                let first = FirstNumber::new(keys.0.first()).unwrap();
                let found = first.of(&keyed(&keys, &[value]));
                assert_eq!(found, sign * number, "{kind}:{direction} {value}");
            }
            let keys: Keys = format!("a:{kind}:nulls-first").parse().unwrap();
            let first = FirstNumber::new(keys.0.first()).unwrap();
            assert_eq!(first.of(&keyed(&keys, &[""])), f64::NEG_INFINITY);
            assert_eq!(first.of(&keyed(&keys, &["x"])), f64::INFINITY);
        }
        assert!(FirstNumber::new(None).is_err());
        let keys: Keys = "a:str".parse().unwrap();
        assert!(FirstNumber::new(keys.0.first()).is_err());
    }
}
