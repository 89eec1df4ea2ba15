//! A table of what GNU sort does where one may expect otherwise, written by hand: it says the same
//! of us and, where it is installed, of GNU sort.

use std::ffi::OsString;

use xsort_gnu::Locale;
use xsort_gnu::sort::{Order, Scratch};

use crate::{oracle, understand};
use xsort_testing::gnu;

const TABLE: &str = include_str!("../golden/semantics.txt");

struct Case {
    options: Vec<OsString>,
    input: Vec<Vec<u8>>,
    sorted: Vec<Vec<u8>>,
    why: &'static str,
}

fn cases() -> Vec<Case> {
    let rows = TABLE.lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| {
        let [options, input, sorted, why] = row.splitn(4, ';').collect::<Vec<_>>()[..] else {
            panic!("four columns: {row}")
        };
        let options = options.split_whitespace().map(OsString::from).collect();
        // One blank after the semicolon is not the line's.
        let lines = |column: &str| column[1..].split('|').map(unescape).collect();
        Case { options, input: lines(input), sorted: lines(sorted), why }
    })
    .collect()
}

fn unescape(text: &str) -> Vec<u8> {
    text.replace("\\t", "\t").replace("\\0", "\0").replace("\\n", "\n").into_bytes()
}

fn text(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect()
}

fn sorted(case: &Case) -> Vec<Vec<u8>> {
    let command = understand(&case.options).unwrap();
    let order = Order::new(&command, &Locale::c(), [0; 16]);
    let mut scratch = Scratch::default();
    let mut lines = case.input.clone();
    lines.sort_by(|a, b| order.compare(a, b, &mut scratch));
    if command.unique {
        lines.dedup_by(|b, a| order.same(a, b, &mut scratch));
    }
    lines
}

#[test]
fn the_table_is_true() {
    let mut wrong = Vec::new();
    for case in cases() {
        let expected = String::from_utf8(text(&case.sorted)).unwrap();
        let ours = String::from_utf8(text(&sorted(&case))).unwrap();
        if ours != expected {
            wrong.push(format!(
                "{:?}{}: ours {ours:?}, expected {expected:?}",
                case.options, case.why
            ));
        }
        if gnu::has("sort") {
            let theirs =
                String::from_utf8(oracle::ask(&case.options, &text(&case.input), "C").stdout)
                    .unwrap();
            if theirs != expected {
                wrong.push(format!(
                    "{:?}{}: GNU's {theirs:?}, expected {expected:?}",
                    case.options, case.why
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
