//! The order of lines beside the installed GNU sort's, in the C locale: sorts and checks of one
//! input. A process a case, so it is the slowest.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use rustix::fs::{MemfdFlags, memfd_create};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{Seek, Write};
use std::process::{self, Stdio};
use xsort_fuzz::model;
use xsort_fuzz::orders::Orders;
use xsort_fuzz::texts::lines;
use xsort_gnu::Locale;
use xsort_gnu::sort::{Command, KeyField, Order, Scratch, annotate, disorder, warnings};

#[derive(Arbitrary, Debug)]
struct Case {
    orders: Orders,
    what: What,
    text: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
enum What {
    Sort,
    Check,
    Debug,
}

fuzz_target!(|case: Case| {
    let word = match case.what {
        What::Sort => None,
        What::Check => Some("-c"),
        What::Debug => Some("--debug"),
    };
    let refused = case.orders.command();
    if let Ok(command) = &refused
        && has_accidents(command, &case.text)
    {
        return;
    }
    let theirs = gnu(&case, word);
    let (output, message, status) = match &refused {
        Err(refusal) => (Vec::new(), refusal.message("sort"), refusal.status().into()),
        Ok(command) => ours(&case.what, command, &case.text),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        (&output, &message, Some(status)) == (&theirs.stdout, &theirs.stderr, theirs.status.code()),
        "{:?} {word:?}\ninput {:?}\nours  {:?} {:?} {status}\nGNU's {:?} {:?} {}",
        case.orders.words(),
        text(&case.text),
        text(&output),
        text(&message),
        text(&theirs.stdout),
        text(&theirs.stderr),
        theirs.status
    );
});

/// What GNU sort does by accident, and xsort doesn't (README): bytes of several "not a number", and
/// characters so far behind the line that they are before it.
fn has_accidents(command: &Command, text: &[u8]) -> bool {
    let nans = text.windows(3).filter(|bytes| bytes.eq_ignore_ascii_case(b"nan")).count();
    let wraps = |char: usize| char > usize::MAX / 2;
    let is_far =
        |key: &KeyField| wraps(key.start_char) || key.end.is_some_and(|end| wraps(end.char));
    (nans > 1 && command.keys.iter().any(|key| key.flags.general))
        || command.keys.iter().any(is_far)
}

fn gnu(case: &Case, word: Option<&str>) -> process::Output {
    let mut input = File::from(memfd_create("input", MemfdFlags::CLOEXEC).unwrap());
    input.write_all(&case.text).unwrap();
    input.rewind().unwrap();
    let child = process::Command::new("sort")
        .args(case.orders.words())
        .args(word)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::from(input))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.wait_with_output().unwrap()
}

/// Output, message and status.
fn ours(what: &What, command: &Command, text: &[u8]) -> (Vec<u8>, Vec<u8>, i32) {
    let locale = Locale::c();
    let order = Order::new(command, &locale, [0; 16]);
    let mut scratch = Scratch::default();
    let mut lines = lines(&[text], command.terminator());
    match what {
        What::Sort => (model::sorted(command, &order, &mut lines), Vec::new(), 0),
        What::Check => {
            let least = if command.unique { Ordering::Equal } else { Ordering::Greater };
            let is_out = |pair: &[&[u8]]| order.compare(pair[0], pair[1], &mut scratch) >= least;
            let Some(at) = lines.windows(2).position(is_out) else {
                return (Vec::new(), Vec::new(), 0);
            };
            (Vec::new(), disorder("sort", b"-", at as u64 + 2, lines[at + 1].to_vec(), command), 1)
        }
        What::Debug => {
            let sorted = model::sorted(command, &order, &mut lines);
            let mut output = Vec::new();
            for line in self::lines(&[&sorted], command.terminator()) {
                annotate(&order, &locale, line, &mut scratch, &mut output);
            }
            let command = Command { debug: true, ..command.clone() };
            let lines = warnings(&command, &locale);
            (
                output,
                lines.iter().flat_map(|line| [b"sort: ", &line[..], b"\n"].concat()).collect(),
                0,
            )
        }
    }
}
