//! Encodes a value as a key field, in the order in which jq sorts values of all kinds.
//!
//! ```text
//!  missing < null < false < true < numbers < strings < arrays < objects
//! ```
//!
//! - Numbers compare by their exact decimal values. (All exponents from 10^18 on are equal.)
//! - Strings compare by code points, which is the order of their UTF-8 bytes.
//! - Arrays compare element by element. Objects compare first by the sorted arrays of their names,
//!   then value by value in the order of the names.
//!
//! The bytes of a value, each inverted if the largest come first:
//!
//! ```text
//!  missing 0c | null 10 | false 18 | true 20 | number 28 decimal | string 30 text
//!  array 38 value ... 08
//!  object 40, 10 name 10 name ... 08, value value ...
//! ```
//!
//! An end, 08, sorts before any byte that could be in its place. Decimals and texts have ends of
//! their own, and an object has as many values as names. So the bytes of a value are never a prefix
//! of another value's.

use super::escapes::push_unescaped;
use super::nodes::{Node, list_nodes};
use super::text::plain;
use crate::key::Place;
use crate::number::push_decimal;
use std::cmp::Ordering;
use xsort_extsort::keyed::KeyWriter;

/// Marks before a field whose nulls have a place of their own.
const MISSING_FIRST: u8 = 0x0c;
const NULL_FIRST: u8 = 0x10;
const VALUE: u8 = 0x20;
const MISSING_LAST: u8 = 0x2c;
const NULL_LAST: u8 = 0x30;

/// The first byte of each kind of value, and of a missing one.
const MISSING: u8 = 0x0c;
const NULL: u8 = 0x10;
const FALSE: u8 = 0x18;
const TRUE: u8 = 0x20;
const NUMBER: u8 = 0x28;
const STRING: u8 = 0x30;
const ARRAY: u8 = 0x38;
const OBJECT: u8 = 0x40;
/// Precedes a name of an object.
const NAME: u8 = 0x10;
/// Follows the last element or name.
const END: u8 = 0x08;

/// Memory that is reused for all rows.
#[derive(Debug, Default)]
pub(crate) struct JqMemory {
    /// For a number or a string.
    buffer: Vec<u8>,
    nodes: Vec<Node>,
    open: Vec<usize>,
    work: Vec<Work>,
    members: Members,
}

/// A value or elements still to be appended. The next one is last in the list.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// A value, by its node.
    Value(usize),
    /// The elements from one node to another, and their end.
    Elements(usize, usize),
}

/// Appends the field of a valid value, found by [`Paths::find`](super::Paths::find). jq treats a
/// missing value as null; here it sorts right before null, so that the two are different keys.
/// `nulls` gives the place of both, in either direction; without it they have their place in jq's
/// order.
pub(crate) fn push_json_key(
    writer: &mut KeyWriter<'_>,
    value: Option<&[u8]>,
    nulls: Option<Place>,
    memory: &mut JqMemory,
) {
    let is_null = value == Some(b"null");
    match (value, nulls) {
        (None, None) => return writer.fixed(&[MISSING]),
        (None, Some(Place::First)) => return writer.mark(MISSING_FIRST),
        (None, Some(Place::Last)) => return writer.mark(MISSING_LAST),
        (Some(_), Some(Place::First)) if is_null => return writer.mark(NULL_FIRST),
        (Some(_), Some(Place::Last)) if is_null => return writer.mark(NULL_LAST),
        (Some(_), Some(_)) => writer.mark(VALUE),
        (Some(_), None) => {}
    }
    let value = value.unwrap_or_default();
    match value {
        [b'{' | b'[', ..] => push_nested(writer, value, memory),
        _ => push_scalar(writer, value, &mut memory.buffer),
    }
}

/// Appends a value that is neither an array nor an object.
fn push_scalar(writer: &mut KeyWriter<'_>, value: &[u8], buffer: &mut Vec<u8>) {
    match value {
        b"null" => writer.fixed(&[NULL]),
        b"false" => writer.fixed(&[FALSE]),
        b"true" => writer.fixed(&[TRUE]),
        [b'"', string @ .., b'"'] => {
            writer.fixed(&[STRING]);
            writer.text(plain(string, buffer));
        }
        _ => {
            buffer.clear();
            buffer.push(NUMBER);
            let number = push_decimal(buffer, value);
            debug_assert!(number.is_some(), "a valid number is a decimal");
            writer.fixed(buffer);
        }
    }
}

/// Appends an array or an object. Pending inner values are in a list, not on the stack.
fn push_nested(writer: &mut KeyWriter<'_>, value: &[u8], memory: &mut JqMemory) {
    let JqMemory { buffer, nodes, open, work, members } = memory;
    list_nodes(value, nodes, open);
    work.clear();
    work.push(Work::Value(0));
    while let Some(next) = work.pop() {
        let index = match next {
            Work::Elements(at, end) if at == end => {
                writer.fixed(&[END]);
                continue;
            }
            Work::Elements(at, end) => {
                work.push(Work::Elements(nodes[at].next, end));
                at
            }
            Work::Value(index) => index,
        };
        let node = nodes[index];
        match value[node.begin] {
            b'[' => {
                writer.fixed(&[ARRAY]);
                work.push(Work::Elements(index + 1, node.next));
            }
            b'{' => {
                writer.fixed(&[OBJECT]);
                members.sort(value, nodes, index);
                for member in &members.list {
                    writer.fixed(&[NAME]);
                    writer.text(member.name(value, &members.unescaped));
                }
                writer.fixed(&[END]);
                work.extend(members.list.iter().rev().map(|member| Work::Value(member.value)));
            }
            _ => push_scalar(writer, &value[node.begin..node.end], buffer),
        }
    }
}

/// The members of an object.
#[derive(Debug, Default)]
struct Members {
    list: Vec<Member>,
    /// The names that had escapes, decoded.
    unescaped: Vec<u8>,
}

#[derive(Debug)]
struct Member {
    /// The range of its name, in the text or in `unescaped`.
    begin: usize,
    end: usize,
    is_unescaped: bool,
    /// The node of its value.
    value: usize,
}

impl Member {
    fn name<'t>(&self, text: &'t [u8], unescaped: &'t [u8]) -> &'t [u8] {
        &(if self.is_unescaped { unescaped } else { text })[self.begin..self.end]
    }
}

impl Members {
    /// Builds the list of an object's members, sorted by name, with the last value of each name.
    fn sort(&mut self, text: &[u8], nodes: &[Node], object: usize) {
        let Members { list, unescaped } = self;
        list.clear();
        unescaped.clear();
        let mut index = object + 1;
        while index < nodes[object].next {
            let (begin, end) = (nodes[index].begin + 1, nodes[index].end - 1);
            let mut member = Member { begin, end, is_unescaped: false, value: index + 1 };
            if memchr::memchr(b'\\', &text[begin..end]).is_some() {
                let begin = unescaped.len();
                push_unescaped(unescaped, &text[member.begin..end]);
                member = Member { begin, end: unescaped.len(), is_unescaped: true, ..member };
            }
            list.push(member);
            index = nodes[index + 1].next;
        }
        let compare = |a: &Member, b: &Member| a.name(text, unescaped).cmp(b.name(text, unescaped));
        list.sort_unstable_by(|a, b| compare(a, b).then(a.value.cmp(&b.value)));
        list.dedup_by(|later, earlier| {
            let is_same = compare(later, earlier) == Ordering::Equal;
            if is_same {
                earlier.value = later.value;
            }
            is_same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A value without its notation. A number counts ten-thousandths.
    #[derive(Clone, Debug)]
    enum Model {
        Null,
        Bool(bool),
        Number(i64),
        Text(String),
        Array(Vec<Model>),
        /// May have a name several times.
        Object(Vec<(String, Model)>),
    }

    /// The order that the manual of jq describes.
    fn compare(a: &Model, b: &Model) -> Ordering {
        let kind = |value: &Model| match value {
            Model::Null => 0,
            Model::Bool(value) => 1 + i32::from(*value),
            Model::Number(_) => 3,
            Model::Text(_) => 4,
            Model::Array(_) => 5,
            Model::Object(_) => 6,
        };
        match (a, b) {
            (Model::Number(a), Model::Number(b)) => a.cmp(b),
            (Model::Text(a), Model::Text(b)) => a.chars().cmp(b.chars()),
            (Model::Array(a), Model::Array(b)) => {
                let unequal = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|o| o.is_ne());
                unequal.unwrap_or(a.len().cmp(&b.len()))
            }
            (Model::Object(a), Model::Object(b)) => {
                let map = |members: &[(String, Model)]| -> BTreeMap<String, Model> {
                    members.iter().cloned().collect()
                };
                let (a, b) = (map(a), map(b));
                let values = || a.values().zip(b.values()).map(|(a, b)| compare(a, b));
                a.keys()
                    .cmp(b.keys())
                    .then_with(|| values().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
            }
            _ => kind(a).cmp(&kind(b)),
        }
    }

    /// A text of the value. `style` decides its notation.
    fn write(value: &Model, style: &mut u32, out: &mut String) {
        *style = style.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15);
        let choice = *style >> 29;
        let space = ["", "", "", " ", "\t", "\r\n "][choice as usize % 6];
        match value {
            Model::Null => out.push_str("null"),
            Model::Bool(value) => out.push_str(&value.to_string()),
            Model::Number(value) => match choice {
                0..4 if value % 10_000 == 0 => out.push_str(&(value / 10_000).to_string()),
                4 => out.push_str(&format!("{value}e-4")),
                5 => out.push_str(&format!("{value}.00E-04")),
                _ => {
                    let (sign, size) = (if *value < 0 { "-" } else { "" }, value.unsigned_abs());
                    out.push_str(&format!("{sign}{}.{:04}", size / 10_000, size % 10_000));
                }
            },
            Model::Text(text) => write_text(text, choice == 0, out),
            Model::Array(values) => {
                out.push('[');
                for (index, value) in values.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(space);
                    write(value, style, out);
                }
                out.push_str(space);
                out.push(']');
            }
            Model::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(space);
                    write_text(name, *style >> 16 & 3 == 0, out);
                    out.push_str(space);
                    out.push(':');
                    write(value, style, out);
                }
                out.push_str(space);
                out.push('}');
            }
        }
    }

    fn write_text(text: &str, is_escaped: bool, out: &mut String) {
        out.push('"');
        for letter in text.chars() {
            if is_escaped || letter < ' ' || matches!(letter, '"' | '\\') {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                out.push(letter);
            }
        }
        out.push('"');
    }

    fn text() -> impl Strategy<Value = String> {
        let letters =
            ['\0', '\u{1}', '\u{2}', '"', '\\', 'a', 'b', '\u{7f}', 'é', '\u{ffff}', '😀'];
        vec(prop::sample::select(letters.to_vec()), 0..4).prop_map(String::from_iter)
    }

    fn model() -> impl Strategy<Value = Model> {
        let number = prop_oneof![-3i64..=3, (-3i64..=3).prop_map(|n| n * 10_000), any::<i64>()];
        let leaf = prop_oneof![
            Just(Model::Null),
            any::<bool>().prop_map(Model::Bool),
            number.prop_map(Model::Number),
            text().prop_map(Model::Text),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let name = prop_oneof![4 => prop::sample::select(vec!["", "a", "b", "a\0"]).prop_map(
                String::from), 1 => text()];
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Model::Array),
                vec((name, inner), 0..4).prop_map(Model::Object),
            ]
        })
    }

    /// The keys of values, one after the other.
    fn key(
        values: &[&str],
        is_descending: bool,
        nulls: Option<Place>,
        memory: &mut JqMemory,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = KeyWriter { out: &mut out, is_descending };
        for value in values {
            push_json_key(&mut writer, Some(value.trim_ascii().as_bytes()), nulls, memory);
        }
        assert!(!out.contains(&0) && !out.windows(2).any(|pair| pair == [1, 1]), "{out:?}");
        out
    }

    fn written(value: &Model, mut style: u32) -> String {
        let mut out = String::new();
        write(value, &mut style, &mut out);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn keys_compare_as_values(
            (a, b) in prop_oneof![
                (model(), model()),
                (vec(model(), 0..4), vec(model(), 0..4))
                    .prop_map(|(a, b)| (Model::Array(a), Model::Array(b))),
                model().prop_map(|a| (a.clone(), a)),
            ],
            (c, d) in (model(), model()),
            styles: [u32; 2],
        ) {
            let order = compare(&a, &b).then_with(|| compare(&c, &d));
            let [a, c] = [&a, &c].map(|value| written(value, styles[0]));
            let [b, d] = [&b, &d].map(|value| written(value, styles[1]));
            let mut memory = JqMemory::default();
            let mut keys = |is_descending, nulls| {
                let one = key(&[&a, &c], is_descending, nulls, &mut memory);
                one.cmp(&key(&[&b, &d], is_descending, nulls, &mut memory))
            };
            prop_assert_eq!(keys(false, None), order, "{} {} / {} {}", a, c, b, d);
            prop_assert_eq!(keys(true, None), order.reverse(), "{} {} / {} {}", a, c, b, d);
            let has_null = [&a, &b, &c, &d].iter().any(|text| *text == "null");
            prop_assert_eq!(keys(false, Some(Place::First)), order);
            if !has_null {
                prop_assert_eq!(keys(true, Some(Place::Last)), order.reverse());
            }
        }
    }

    #[test]
    fn values_of_all_kinds_come_in_their_order() {
        let rising = [
            "null",
            "false",
            "true",
            "-1e400",
            "-0.5",
            "-0",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1.00000000000000000000000001e400",
            r#""""#,
            r#""\u0000""#,
            r#""A""#,
            r#""a""#,
            r#""\u00e9""#,
            r#""\ud800""#,
            r#""\udfff""#,
            r#""\uffff""#,
            r#""\ud83d\ude00""#,
            "[]",
            "[null]",
            "[null,null]",
            "[[]]",
            "[[],1]",
            "[[1]]",
            "[{}]",
            "{}",
            r#"{"a":2}"#,
            r#"{"a":[]}"#,
            r#"{"c":0,"a":1,"b":3,"a":2}"#,
            r#"{"b":1}"#,
        ];
        let mut memory = JqMemory::default();
        for pair in rising.windows(2) {
            let mut of = |value, is_descending| key(&[value], is_descending, None, &mut memory);
            assert!(of(pair[0], false) < of(pair[1], false), "{pair:?}");
            assert!(of(pair[0], true) > of(pair[1], true), "{pair:?}");
        }
    }

    #[test]
    fn nulls_and_what_is_missing_go_where_they_are_put() {
        let mut memory = JqMemory::default();
        let mut of = |value: Option<&str>, is_descending, nulls| {
            let mut out = Vec::new();
            let mut writer = KeyWriter { out: &mut out, is_descending };
            push_json_key(&mut writer, value.map(str::as_bytes), nulls, &mut memory);
            out
        };
        for is_descending in [false, true] {
            for nulls in [None, Some(Place::First), Some(Place::Last)] {
                let is_first = nulls.map_or(!is_descending, |place| place == Place::First);
                let missing = of(None, is_descending, nulls);
                let null = of(Some("null"), is_descending, nulls);
                assert_eq!(missing < null, nulls.is_some() || !is_descending);
                for value in ["false", "[]", "\"null\"", "{}"] {
                    let value = of(Some(value), is_descending, nulls);
                    assert_eq!((missing < value, null < value), (is_first, is_first));
                }
            }
        }
    }

    #[test]
    fn deep_values_have_keys() {
        let deep = |depth| [r#"{"a":["#.repeat(depth), "]}".repeat(depth)].concat();
        let mut memory = JqMemory::default();
        let mut of = |value: &str| key(&[value], false, None, &mut memory);
        assert!(of(&deep(255)) < of(&deep(256)));
    }
}
