//! `xsort table`, but for the process: fields in quotes or not, split by an independent parser
//! (csv-core), and rows of JSON, parsed by another one (serde_json); sorted by comparison.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::cmp::Ordering;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{Content, LinesInput};
use xsort_extsort::{Error, LinesOptions, Unobserved};
use xsort_fuzz::texts::Dribble;
use xsort_table::{
    Collator, Dialect, Keep, Keys, OnBad, RowFormat, TableOptions, TableOutput, sort_table,
};

#[derive(Arbitrary, Debug)]
struct Case {
    is_json: bool,
    is_descending: bool,
    is_unique: Option<bool>,
    column: u8,
    has_threads: bool,
    dribble: u16,
    text: Vec<u8>,
}

fuzz_target!(|case: Case| if case.is_json { json(&case) } else { csv(&case) });

/// Sorts texts, each of which is an input.
fn sorted(case: &Case, format: RowFormat, by: &str, texts: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let direction = if case.is_descending { ":desc" } else { "" };
    let options = TableOptions {
        format,
        has_header: false,
        top_prefixes: Vec::new(),
        keys: format!("{by}{direction}").parse().unwrap(),
        collator: Collator::default(),
        on_bad: OnBad::Refuse,
        unique: case.is_unique.map(|is_first| if is_first { Keep::First } else { Keep::Last }),
        counts: false,
        shuffle: None,
        rows_max: None,
        compression: None,
        merges: false,
        sorted_by: Keys(Vec::new()),
        within: None,
        unique_keys: None,
        index: None,
    };
    let engine = LinesOptions {
        delimiter: 0,
        scratch: vec!["/scratch".into()],
        ..LinesOptions::new(
            if case.has_threads { 64 << 20 } else { 4 << 20 },
            if case.has_threads { 3 } else { 1 },
        )
    };
    let input = |text: &Vec<u8>| {
        let bytes = Dribble::new(text.clone(), usize::from(case.dribble));
        LinesInput { path: "in".into(), bytes: None, content: Content::Stream(Box::new(bytes)) }
    };
    let inputs = texts.iter().map(input).collect();
    let (disk, mut output) = (SimDisk::new(SimOptions::default()), Vec::new());
    let to = TableOutput::Stream(&mut output);
    sort_table(&options, &engine, inputs, to, &disk, &Unobserved)?;
    Ok(output)
}

/// What a sort has to make of rows.
fn expected<R>(case: &Case, mut rows: Vec<R>, compare: impl Fn(&R, &R) -> Ordering) -> Vec<R> {
    rows.sort_by(|a, b| if case.is_descending { compare(b, a) } else { compare(a, b) });
    match case.is_unique {
        None => {}
        Some(true) => rows.dedup_by(|b, a| compare(a, b) == Ordering::Equal),
        Some(false) => {
            rows.reverse();
            rows.dedup_by(|b, a| compare(a, b) == Ordering::Equal);
            rows.reverse();
        }
    }
    rows
}

/// The fields of all rows. The parser skips rows without bytes, so there must be none.
fn fields(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let terminator = csv_core::Terminator::Any(b'\n');
    let mut reader = csv_core::ReaderBuilder::new().terminator(terminator).build();
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rest, mut buffer) = (text, [0; 64]);
    loop {
        let (result, read, written) = reader.read_field(rest, &mut buffer);
        rest = &rest[read..];
        field.extend_from_slice(&buffer[..written]);
        match result {
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
            csv_core::ReadFieldResult::Field { record_end } => {
                row.push(std::mem::take(&mut field));
                if record_end {
                    rows.push(std::mem::take(&mut row));
                }
            }
            csv_core::ReadFieldResult::End => return rows,
        }
    }
}

fn csv(case: &Case) {
    const ALPHABET: [&[u8]; 12] =
        [b"\"", b"\"", b",", b",", b"\n", b"a", b"b", b"\0", b"\x01", b"\xff", b"\"\"", b"\",\""];
    let pieces = case.text.iter().map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()]);
    let mut text = pieces.collect::<Vec<_>>().concat();
    let is_blank =
        |text: &[u8]| text.starts_with(b"\n") || text.windows(2).any(|two| two == b"\n\n");
    if text.is_empty() || is_blank(&text) {
        return;
    }
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    let column = usize::from(case.column % 4);
    let format = RowFormat::Delimited(Dialect::CSV);
    match sorted(case, format, &format!("#{}", column + 1), std::slice::from_ref(&text)) {
        Ok(output) => {
            assert!(case.is_unique.is_some() || output.len() == text.len());
            let empty = Vec::new();
            let key = |row: &Vec<Vec<u8>>| row.get(column).unwrap_or(&empty).clone();
            let rows = expected(case, fields(&text), |a, b| key(a).cmp(&key(b)));
            assert_eq!(fields(&output), rows);
        }
        // The parser closes a quote at the end.
        Err(Error::Input { reason, .. }) => {
            let known = ["never closed", "is closed before", "text in UTF-16", "text in UTF-32"];
            assert!(known.iter().any(|known| reason.contains(known)), "{reason}");
        }
        Err(Error::Settings(reason)) => assert!(reason.contains("no column #"), "{reason}"),
        Err(error) => panic!("{error}"),
    }
}

/// Kinds in the order of jq, and the values of one kind.
fn compare_values(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    let kind = |value: Option<&Value>| match value {
        None => 0,
        Some(Value::Null) => 1,
        Some(Value::Bool(false)) => 2,
        Some(Value::Bool(true)) => 3,
        Some(Value::Number(_)) => 4,
        Some(Value::String(_)) => 5,
        Some(Value::Array(_)) => 6,
        Some(Value::Object(_)) => 7,
    };
    let inside = || match (a?, b?) {
        (Value::Number(a), Value::Number(b)) => Some(a.as_i64()?.cmp(&b.as_i64()?)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare_values(Some(a), Some(b)));
            let first = pairs.into_iter().find(|order| order.is_ne());
            Some(first.unwrap_or(a.len().cmp(&b.len())))
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut pairs = a.values().zip(b.values());
            let by_value = || {
                let first = pairs.find_map(|(a, b)| {
                    Some(compare_values(Some(a), Some(b))).filter(|order| order.is_ne())
                });
                first.unwrap_or(Ordering::Equal)
            };
            Some(a.keys().cmp(b.keys()).then_with(by_value))
        }
        _ => None,
    };
    kind(a).cmp(&kind(b)).then_with(|| inside().unwrap_or(Ordering::Equal))
}

fn json(case: &Case) {
    const PIECES: [&str; 22] = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"a\"",
        "\"b\"",
        "\"a\":",
        "\"\\u0061\":",
        "null",
        "true",
        "false",
        "0",
        "-12",
        "7",
        "\"x\"",
        "\"\u{e9}\\n\"",
        " ",
        "\r",
        "\"",
        "{\"a\":",
    ];
    let row = |bytes: &[u8]| -> String {
        bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect()
    };
    let rows: Vec<String> = case.text.split(|&byte| byte == b'\n').map(row).collect();
    let values: Vec<Option<Value>> = rows
        .iter()
        .map(
            |row| {
                if row.trim().is_empty() { Ok(None) } else { serde_json::from_str(row).map(Some) }
            },
        )
        .collect::<Result<_, _>>()
        .unwrap_or_default();
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let texts: Vec<Vec<u8>> = vec![text.into_bytes()];
    match sorted(case, RowFormat::Ndjson, ".a", &texts) {
        Ok(output) => {
            assert_eq!(values.len(), rows.len(), "{rows:?}");
            let all: Vec<(Option<Value>, String)> = values.into_iter().zip(rows).collect();
            fn key(row: &(Option<Value>, String)) -> Option<&Value> {
                row.0.as_ref()?.get("a")
            }
            let rows = expected(case, all, |a, b| compare_values(key(a), key(b)));
            let expected: String = rows.iter().map(|(_, row)| format!("{row}\n")).collect();
            assert_eq!(String::from_utf8(output).unwrap(), expected);
        }
        Err(Error::Input { reason, .. }) => {
            assert!(values.len() != rows.len(), "{reason} {rows:?}")
        }
        Err(error) => panic!("{error}"),
    }
}
