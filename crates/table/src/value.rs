//! A column's value as a field of a key.

use crate::bad_row::BadRow;
use crate::json::{JsonValue, json_text};
use crate::key::{KeyColumn, KeyKind, Place};
use crate::natural::{push_chromosome, push_natural, push_version};
use crate::number::{is_whole, push_decimal};
use crate::on_bad::OnBad;
use crate::time::{push_date, push_time};
use icu_casemap::CaseMapper;
use std::net::IpAddr;
use xsort_extsort::keyed::KeyWriter;
use xsort_gnu::{Collator, CollatorScratch};

/// Marks before a field. A value of another type sorts before or after all others, and in a row of
/// JSON a missing value sorts before null.
const BAD_FIRST: u8 = 0x08;
const MISSING_FIRST: u8 = 0x0c;
const NULL_FIRST: u8 = 0x10;
/// Precedes a value of the column's type.
pub(crate) const VALUE: u8 = 0x20;
/// Precedes a name that isn't in a list, after all that are.
const NOT_IN_LIST: u8 = 0x28;
const MISSING_LAST: u8 = 0x2c;
const NULL_LAST: u8 = 0x30;
const BAD_LAST: u8 = 0x38;

/// True for the marks that a text follows, whatever the type.
pub(crate) fn is_mark_of_text(mark: u8) -> bool {
    matches!(mark, BAD_FIRST | BAD_LAST | NOT_IN_LIST)
}

/// Most bytes of an array or object that is a key, because each value in it takes memory.
const NESTED_BYTES_MAX: usize = 256 << 10;
/// Most bytes of a text in the order of a language, whose key takes several times as much.
const LOCALE_BYTES_MAX: usize = 64 << 10;

/// Refuses a value whose key would take too much memory. `value` is its text in the row.
pub(crate) fn refuse_long(
    kind: &KeyKind,
    value: &[u8],
    row: u64,
    column: &str,
) -> Result<(), BadRow> {
    let bytes = value.len();
    match (kind, value.first()) {
        (KeyKind::Json, Some(b'{' | b'[')) if bytes > NESTED_BYTES_MAX => {
            let (column, bytes_max) = (column.into(), NESTED_BYTES_MAX);
            Err(BadRow::NestedKey { row, column, bytes, bytes_max })
        }
        (KeyKind::Locale, _) if bytes > LOCALE_BYTES_MAX => {
            let (column, bytes_max) = (column.into(), LOCALE_BYTES_MAX);
            Err(BadRow::LongText { row, column, bytes, bytes_max })
        }
        _ => Ok(()),
    }
}

/// The order of text, and memory for a field.
pub(crate) struct FieldWork<'c> {
    collator: &'c Collator,
    scratch: CollatorScratch,
    field: Vec<u8>,
}

impl<'c> FieldWork<'c> {
    pub(crate) fn new(collator: &'c Collator) -> FieldWork<'c> {
        FieldWork { collator, scratch: CollatorScratch::default(), field: Vec::new() }
    }
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// A value of the column's type.
    Value,
    /// An empty or missing value.
    Nothing,
    /// A value of another type.
    Bad,
}

/// Appends a value's field. Returns its kind. `on_bad` decides how a value of another type is
/// treated.
pub(crate) fn push_value(
    out: &mut Vec<u8>,
    key: &KeyColumn,
    value: Option<&[u8]>,
    on_bad: OnBad,
    work: &mut FieldWork<'_>,
) -> Pushed {
    let mut writer = KeyWriter { out, is_descending: key.is_descending };
    let is_text = is_text(&key.kind);
    if is_text && key.nulls.is_none() && !key.is_required {
        // Empty and missing texts are texts.
        push_text(&mut writer, &key.kind, value.unwrap_or_default(), work);
        return Pushed::Value;
    }
    let value = value.map(|value| if is_text { value } else { value.trim_ascii() });
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        writer.mark(match key.nulls {
            Some(Place::First) => NULL_FIRST,
            Some(Place::Last) | None => NULL_LAST,
        });
        return Pushed::Nothing;
    };
    if is_text {
        if key.nulls.is_some() {
            writer.mark(VALUE);
        }
        push_text(&mut writer, &key.kind, value, work);
        return Pushed::Value;
    }
    push_typed(&mut writer, &key.kind, value, on_bad, &mut work.field)
}

/// True if every value is of the type, even an empty one.
pub(crate) fn is_text(kind: &KeyKind) -> bool {
    use KeyKind::{Chromosome, Length, Locale, Natural, NoCase, Text};
    matches!(kind, Text | NoCase | Locale | Natural | Chromosome | Length)
}

/// Appends the field of a JSON value, given as its text in the row. Returns its kind. `text` is
/// memory for it.
pub(crate) fn push_json_value(
    out: &mut Vec<u8>,
    key: &KeyColumn,
    value: Option<&[u8]>,
    on_bad: OnBad,
    text: &mut Vec<u8>,
    work: &mut FieldWork<'_>,
) -> Pushed {
    let mut writer = KeyWriter { out, is_descending: key.is_descending };
    let is_first = key.nulls == Some(Place::First);
    let Some(value) = value else {
        writer.mark(if is_first { MISSING_FIRST } else { MISSING_LAST });
        return Pushed::Nothing;
    };
    match json_text(value, text) {
        JsonValue::Null => {
            writer.mark(if is_first { NULL_FIRST } else { NULL_LAST });
            Pushed::Nothing
        }
        JsonValue::Nested => push_bad(&mut writer, value, on_bad),
        JsonValue::Text(text) | JsonValue::Scalar(text) if is_text(&key.kind) => {
            writer.mark(VALUE);
            push_text(&mut writer, &key.kind, text, work);
            Pushed::Value
        }
        JsonValue::Text(text) | JsonValue::Scalar(text) => {
            push_typed(&mut writer, &key.kind, text, on_bad, &mut work.field)
        }
    }
}

/// Appends a value that isn't null, for a type that isn't text.
fn push_typed(
    writer: &mut KeyWriter<'_>,
    kind: &KeyKind,
    value: &[u8],
    on_bad: OnBad,
    buffer: &mut Vec<u8>,
) -> Pushed {
    buffer.clear();
    if field(kind, value, buffer).is_none() {
        return match kind {
            KeyKind::Listed(listed) if listed.are_others_last => {
                writer.mark(NOT_IN_LIST);
                writer.text(value);
                Pushed::Value
            }
            _ => push_bad(writer, value, on_bad),
        };
    }
    writer.mark(VALUE);
    match kind {
        KeyKind::Version => writer.text(buffer),
        _ => writer.fixed(buffer),
    }
    Pushed::Value
}

/// Appends a value of another type, unless the sort fails. Different values of this kind aren't
/// duplicates of each other.
fn push_bad(writer: &mut KeyWriter<'_>, value: &[u8], on_bad: OnBad) -> Pushed {
    let mark = match on_bad {
        OnBad::Put(Place::First) => BAD_FIRST,
        OnBad::Put(Place::Last) => BAD_LAST,
        OnBad::Refuse => return Pushed::Bad,
    };
    writer.mark(mark);
    writer.text(value);
    Pushed::Bad
}

/// Appends a text in the encoding of its type.
fn push_text(writer: &mut KeyWriter<'_>, kind: &KeyKind, value: &[u8], work: &mut FieldWork<'_>) {
    let FieldWork { collator, scratch, field } = work;
    field.clear();
    match kind {
        KeyKind::Length => writer.fixed(&(value.len() as u64).to_be_bytes()),
        KeyKind::NoCase => {
            push_folded(field, value);
            writer.text(field);
        }
        KeyKind::Locale => {
            collator.encode(value, scratch, field);
            writer.text(field);
        }
        KeyKind::Natural => {
            push_natural(field, value);
            writer.text(field);
        }
        KeyKind::Chromosome => {
            push_chromosome(field, value);
            writer.text(field);
        }
        _ => writer.text(value),
    }
}

/// Appends a text without its case, by Unicode's full case folding, which is independent of the
/// language. Bytes that aren't UTF-8 stay unchanged.
fn push_folded(out: &mut Vec<u8>, text: &[u8]) {
    if text.is_ascii() {
        return out.extend(text.iter().map(u8::to_ascii_lowercase));
    }
    for part in text.utf8_chunks() {
        out.extend_from_slice(CaseMapper::new().fold_string(part.valid()).as_bytes());
        out.extend_from_slice(part.invalid());
    }
}

/// Appends the bytes of a value; `None` if it isn't of the type.
fn field(kind: &KeyKind, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let text = || std::str::from_utf8(value).ok();
    match kind {
        // Texts are no fields, and values of JSON are encoded by their kinds.
        KeyKind::Text
        | KeyKind::NoCase
        | KeyKind::Locale
        | KeyKind::Natural
        | KeyKind::Chromosome
        | KeyKind::Length
        | KeyKind::Json => return None,
        KeyKind::Listed(listed) => out.extend(listed.rank(value)?.to_be_bytes()),
        KeyKind::Bits(bits) => out.push(u8::from(text()?.parse::<u64>().ok()? & bits != 0)),
        KeyKind::Version => push_version(out, value)?,
        KeyKind::Integer if !is_whole(value) => return None,
        KeyKind::Integer | KeyKind::Number => push_decimal(out, value)?,
        KeyKind::Float => {
            let bits = text()?.parse::<f64>().ok()?.to_bits();
            let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            out.extend(ordered.to_be_bytes());
        }
        KeyKind::Bool => out.push(u8::from(truth(value)?)),
        KeyKind::Date => push_date(out, value)?,
        KeyKind::DateTime(format) => push_time(out, value, format.as_ref())?,
        KeyKind::Ip => match text()?.parse().ok()? {
            IpAddr::V4(address) => {
                out.push(4);
                out.extend(address.octets());
            }
            IpAddr::V6(address) => {
                out.push(6);
                out.extend(address.octets());
            }
        },
    }
    Some(())
}

fn truth(value: &[u8]) -> Option<bool> {
    let is =
        |words: [&str; 4]| words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    match (is(["false", "f", "no", "0"]), is(["true", "t", "yes", "1"])) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keys;

    fn encoded(key: &str, value: &str) -> (Vec<u8>, bool) {
        let keys: Keys = format!("a:{key}").parse().unwrap();
        let (mut out, collator) = (Vec::new(), Collator::default());
        let work = &mut FieldWork::new(&collator);
        let value = Some(value.as_bytes());
        let pushed = push_value(&mut out, &keys.0[0], value, OnBad::Put(Place::Last), work);
        (out, pushed != Pushed::Bad)
    }

    #[test]
    fn values_of_each_type_come_in_their_order() {
        let cases: &[(&str, &[&str])] = &[
            ("str", &["", "A", "B", "a", "a\0", "ab"]),
            ("nocase", &["a", "AB", "abc", "B", "\u{e9}t\u{e9}", "\u{c9}t\u{e9}s"]),
            ("locale", &["", "A", "a"]),
            ("natural", &["", "a2", "a10", "a10b"]),
            ("chrom", &["", "chr2", "chr10", "chrX", "chrM", "chrUn_1", "*"]),
            ("order(=low,mid,high)", &["low", "mid", "high", ""]),
            ("bits(16)", &["83", ""]),
            ("bits(16)", &["163", "83"]),
            ("version", &["1.9", "1.10-rc1", "1.10", ""]),
            ("int", &["-100000000000000000000000", "-2", "0", "+7", "10", ""]),
            ("num", &["-1.5", "-1.25", "0", "1e-3", "0.5", "1e400", ""]),
            ("float", &["-inf", "-1e300", "-0.0", "0.0", "1e-300", "2", "inf", "nan", ""]),
            ("bool", &["no", "TRUE", ""]),
            ("date", &["-000044-03-15", "1969-12-31", "1970-01-01", "2026-11-22", ""]),
            (
                "datetime",
                &["2026-11-22T12:00:00+02:00", "2026-11-22 10:00:01", "2026-11-22T09:30:01-01:00"],
            ),
            ("datetime(%d.%m.%Y)", &["31.12.1999", "01.01.2000"]),
            ("length", &["", "b", "aa"]),
            ("ip", &["9.0.0.1", "10.0.0.1", "::1", "fe80::1", ""]),
        ];
        for (key, rising) in cases {
            for pair in rising.windows(2) {
                let [a, b] = [encoded(key, pair[0]), encoded(key, pair[1])];
                assert!(a < (b.0.clone(), true) && a.1 && b.1, "{key}: {pair:?}");
                if !pair[1].is_empty() {
                    let key = format!("{key}:desc");
                    let [a, b] = [encoded(&key, pair[0]), encoded(&key, pair[1])];
                    assert!(a.0 > b.0, "{key}: {pair:?}");
                }
            }
        }
    }

    /// A final sigma, a long s, a micro sign and an iota below a vowel differed from their
    /// capitals, which have several small letters.
    #[test]
    fn texts_that_differ_in_case_only_are_equal() {
        for (small, capital) in [
            ("\u{3bb}\u{3cc}\u{3b3}\u{3bf}\u{3c2}", "\u{39b}\u{38c}\u{393}\u{39f}\u{3a3}"),
            ("\u{17f}ee", "SEE"),
            ("\u{b5}m", "\u{39c}M"),
            ("\u{1fb3}", "\u{391}\u{399}"),
            ("stra\u{df}e", "STRASSE"),
            ("stra\u{df}e", "STRA\u{1e9e}E"),
            ("\u{fb01}n", "FIN"),
            ("\u{e9}t\u{e9}", "\u{c9}T\u{c9}"),
            ("\u{13a0}", "\u{ab70}"),
        ] {
            assert_eq!(encoded("nocase", small), encoded("nocase", capital), "{small} {capital}");
        }
        // Each character whose case can be changed, except the Turkish dotted capital and the
        // dotless small i, whose case depends on the language.
        for one in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            if one == '\u{130}' || one == '\u{131}' {
                continue;
            }
            let upper: String = one.to_uppercase().collect();
            assert_eq!(encoded("nocase", &one.to_string()), encoded("nocase", &upper), "{one}");
        }
        let mut broken = Vec::new();
        push_folded(&mut broken, b"\xffA\xc3");
        assert_eq!(broken, b"\xffa\xc3");
    }

    #[test]
    fn nulls_go_where_they_are_put_whatever_the_direction() {
        for direction in ["asc", "desc"] {
            for kind in ["str", "locale", "int", "date"] {
                let value = if kind == "date" { "2026-01-01" } else { "5" };
                let of = |nulls: &str, value: &str| {
                    encoded(&format!("{kind}:{direction}:{nulls}"), value)
                };
                assert!(of("nulls-first", "") < of("nulls-first", value));
                assert!(of("nulls-last", "") > of("nulls-last", value));
            }
        }
    }

    #[test]
    fn names_that_are_not_in_a_list_come_after_all_that_are() {
        for direction in ["asc", "desc"] {
            let of = |name: &str| encoded(&format!("order(=b,a):others-last:{direction}"), name);
            assert!(of("a") < of("A") && of("b") < of("A") && of("A").1 && of("A") < of(""));
            assert_eq!(of("A") < of("B"), direction == "asc");
        }
    }

    #[test]
    fn what_is_of_another_type_is_noticed() {
        for (key, bad) in [
            ("int", "1.5"),
            ("num", "1,5"),
            ("version", "1.x"),
            ("float", "x"),
            ("bool", "maybe"),
            ("date", "2026-02-30"),
            ("datetime", "noon"),
            ("datetime(%Y)", "x"),
            ("ip", "1.2.3"),
            ("order(=a,b)", "c"),
            ("bits(4)", "-1"),
        ] {
            assert!(!encoded(key, bad).1, "{key} {bad}");
        }
    }
}
