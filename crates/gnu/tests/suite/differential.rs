//! Random sorts and checks, ours against the installed GNU sort's: output, messages and status must
//! be the same.
//!
//! `XSORT_SEEDS=100000 cargo test -p xsort-gnu differential` runs more of them; a failure names
//! its seed, and `XSORT_SEED` runs that one alone.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::io::Write;

use xsort_gnu::sort::{
    Check, Command, Environment, Order, Request, Scratch, annotate, disorder, parse,
    refuse_combinations, warnings,
};
use xsort_gnu::{Locale, Refusal};
use xsort_testing::{Random, gnu, seeds};

use crate::{cases, oracle};

/// What a `sort` answers: output, messages, status.
#[derive(PartialEq, Eq)]
struct Answer {
    output: Vec<u8>,
    message: Vec<u8>,
    status: i32,
}

const SEED: [u8; 16] = *b"0123456789abcdef";

/// Runs `check` for the seeds of this run.
fn for_seeds(cases: u64, check: impl Fn(u64)) {
    if gnu::has("sort") {
        seeds(cases).for_each(check);
    }
}

fn environment(locale: &Locale) -> Environment {
    let limit = std::fs::read_to_string("/proc/self/limits").unwrap();
    let limit = limit.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let open_files_max = limit.split_whitespace().next().unwrap().parse().unwrap();
    Environment {
        memory_bytes: 1 << 34,
        open_files_max,
        ..Environment::new(|_| None, locale.clone())
    }
}

fn request(words: &[OsString], locale: &Locale) -> Result<Box<Command>, Refusal> {
    match parse(words, &environment(locale))? {
        Request::Run(command) => {
            if command.files0_from.is_some() {
                // A list of one file, which is read before more is refused.
                refuse_combinations(&command, &["file"], &environment(locale))?;
            }
            Ok(command)
        }
        other => panic!("{words:?} asks for {other:?}"),
    }
}

fn lines(input: &[u8], terminator: u8) -> Vec<&[u8]> {
    let body = input.strip_suffix(&[terminator]).unwrap_or(input);
    if input.is_empty() { Vec::new() } else { body.split(|&byte| byte == terminator).collect() }
}

/// The answer by `compare` alone.
fn by_comparison(command: &Command, order: &Order, input: &[u8]) -> Answer {
    let mut scratch = Scratch::default();
    let mut lines = lines(input, command.terminator());
    if let Some(check) = command.check {
        return checked(command, order, &lines, check);
    }
    lines.sort_by(|a, b| order.compare(a, b, &mut scratch));
    written(command, order, &lines)
}

/// The answer by normalised keys and words, with `compare` for what they leave open.
fn by_keys(command: &Command, order: &Order, input: &[u8]) -> Answer {
    let mut scratch = Scratch::default();
    let mut lines = lines(input, command.terminator());
    if let Some(check) = command.check {
        return checked(command, order, &lines, check);
    }
    let mut words = Vec::new();
    order.words(lines.iter().copied(), 0, &mut scratch, &mut words);
    let mut keyed: Vec<(u64, Vec<u8>, &[u8])> = Vec::new();
    for (word, line) in words.into_iter().zip(lines) {
        let mut key = Vec::new();
        order.encode(line, &mut scratch, &mut key);
        for skip in [0, 1, 7, 8, 13, 100] {
            let mut expected = [0; 8];
            key.iter().skip(skip).zip(&mut expected).for_each(|(byte, expected)| *expected = *byte);
            let word = order.word(line, skip, &mut scratch);
            assert_eq!(word.to_be_bytes(), expected, "word of {line:?} from {skip}");
        }
        keyed.push((word, key, line));
    }
    keyed.sort_by(|(word_a, key_a, a), (word_b, key_b, b)| {
        let by_key = word_a.cmp(word_b).then_with(|| key_a.cmp(key_b));
        if by_key == Ordering::Equal && order.is_exact() {
            assert!(order.same(a, b, &mut scratch), "{a:?} and {b:?} have one key and differ");
        }
        if by_key == Ordering::Equal { order.compare(a, b, &mut scratch) } else { by_key }
    });
    lines = keyed.into_iter().map(|(_, _, line)| line).collect();
    written(command, order, &lines)
}

fn checked(command: &Command, order: &Order, lines: &[&[u8]], check: Check) -> Answer {
    let mut scratch = Scratch::default();
    let least = if command.unique { Ordering::Equal } else { Ordering::Greater };
    let bad =
        lines.windows(2).position(|pair| order.compare(pair[0], pair[1], &mut scratch) >= least);
    let say = |at: usize| disorder("sort", b"-", at as u64 + 2, lines[at + 1].to_vec(), command);
    let message = bad.filter(|_| check == Check::DiagnoseFirst).map(say).unwrap_or_default();
    Answer { output: Vec::new(), message, status: i32::from(bad.is_some()) }
}

fn written(command: &Command, order: &Order, lines: &[&[u8]]) -> Answer {
    let mut scratch = Scratch::default();
    let mut output = Vec::new();
    let mut before = None;
    for line in lines {
        if command.unique && before.is_some_and(|before| order.same(before, line, &mut scratch)) {
            continue;
        }
        before = Some(line);
        output.extend_from_slice(line);
        output.push(command.terminator());
    }
    Answer { output, message: Vec::new(), status: 0 }
}

/// One sort with `--debug`: marks below lines, warnings before them.
fn debug_one(seed: u64, locale: &Locale, name: &str, source: &std::path::Path) {
    let random = &mut Random::new(seed);
    let mut words = cases::words(random);
    words.retain(|word| !["-c", "-C"].iter().any(|check| word == check));
    words.extend([format!("--random-source={}", source.display()).into(), "--debug".into()]);
    let terminator = if words.iter().any(|word| word == "-z") { 0 } else { b'\n' };
    let input = cases::input(random, terminator, name != "C");
    let Ok(command) = request(&words, locale) else { return };
    let order = Order::new(&command, locale, SEED);
    let theirs = oracle::ask(&words, &input, name);
    let mut scratch = Scratch::default();
    let sorted = by_comparison(&command, &order, &input).output;
    let mut output = Vec::new();
    for line in lines(&sorted, terminator) {
        annotate(&order, locale, line, &mut scratch, &mut output);
    }
    let message: Vec<u8> = warnings(&command, locale)
        .iter()
        .flat_map(|line| [b"sort: ", &line[..], b"\n"].concat())
        .collect();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&message), text(&theirs.stderr), "seed {seed} {words:?} in {name}");
    let theirs = text(&theirs.stdout);
    for (at, (ours, theirs)) in text(&output).lines().zip(theirs.lines()).enumerate() {
        assert_eq!(
            ours,
            theirs,
            "seed {seed} {words:?} in {name}, line {at} of\n{}",
            text(&output)
        );
    }
    assert_eq!(text(&output).len(), theirs.len(), "seed {seed} {words:?} in {name}");
}

/// One sort or check of standard input.
fn compare_one(seed: u64, locale: &Locale, name: &str, source: &std::path::Path) {
    let random = &mut Random::new(seed);
    let mut words = cases::words(random);
    words.push(format!("--random-source={}", source.display()).into());
    let terminator = if words.iter().any(|word| word == "-z") { 0 } else { b'\n' };
    let input = cases::input(random, terminator, name != "C");
    let theirs = oracle::ask(&words, &input, name);
    let theirs = Answer {
        output: theirs.stdout,
        message: theirs.stderr,
        status: theirs.status.code().unwrap(),
    };
    let ours = match request(&words, locale) {
        Err(refusal) => {
            let message = refusal.message("sort");
            vec![Answer { output: Vec::new(), message, status: refusal.status().into() }]
        }
        Ok(command) => {
            let order = Order::new(&command, locale, SEED);
            vec![by_comparison(&command, &order, &input), by_keys(&command, &order, &input)]
        }
    };
    for (ours, how) in ours.into_iter().zip(["comparison", "keys"]) {
        assert!(
            ours == theirs,
            "seed {seed} {words:?} in {name}, by {how}\ninput {:?}\nours  {:?} {} {}\nGNU's {:?} \
                {} {}",
            String::from_utf8_lossy(&input),
            String::from_utf8_lossy(&ours.output),
            String::from_utf8_lossy(&ours.message),
            ours.status,
            String::from_utf8_lossy(&theirs.output),
            String::from_utf8_lossy(&theirs.message),
            theirs.status,
        );
    }
}

fn random_source() -> tempfile::NamedTempFile {
    let mut source = tempfile::NamedTempFile::new().unwrap();
    source.write_all(&SEED).unwrap();
    source.write_all(b"and more that nobody reads").unwrap();
    source
}

#[test]
fn sorts_and_checks_are_gnus() {
    let source = random_source();
    for_seeds(800, |seed| compare_one(seed, &Locale::c(), "C", source.path()));
}

#[test]
fn sorts_and_checks_are_gnus_by_code_points() {
    let source = random_source();
    let Some(locale) = Locale::named("C.UTF-8") else { return };
    for_seeds(300, |seed| compare_one(seed, &locale, "C.UTF-8", source.path()));
}

#[test]
fn marks_and_warnings_are_gnus() {
    let source = random_source();
    for_seeds(500, |seed| debug_one(seed, &Locale::c(), "C", source.path()));
    let Some(locale) = Locale::named("C.UTF-8") else { return };
    for_seeds(200, |seed| debug_one(seed, &locale, "C.UTF-8", source.path()));
}

#[test]
fn refusals_are_gnus() {
    for_seeds(600, |seed| {
        let random = &mut Random::new(seed);
        let words = cases::odd_words(random);
        let locale = Locale::c();
        let theirs = oracle::ask(&words, b"file\0", "C");
        let Err(refusal) = request(&words, &locale) else {
            let message = String::from_utf8_lossy(&theirs.stderr).into_owned();
            let is_about_files =
                ["cannot read:", "open failed:"].iter().any(|problem| message.contains(problem));
            assert!(
                theirs.status.success() || is_about_files,
                "seed {seed} {words:?}: only GNU sort refuses: {message}"
            );
            return;
        };
        let (ours, status) = (refusal.message("sort"), i32::from(refusal.status()));
        assert_eq!(
            (String::from_utf8_lossy(&ours), Some(status)),
            (String::from_utf8_lossy(&theirs.stderr), theirs.status.code()),
            "seed {seed} {words:?}"
        );
    });
}

/// Run by `locales`, which makes them.
#[test]
#[ignore = "needs locales that `locales` makes"]
fn by_language() {
    let source = random_source();
    for name in std::env::var("XSORT_LOCALES").unwrap().split_whitespace() {
        let locale = Locale::named(name).unwrap();
        for_seeds(60, |seed| {
            compare_one(seed, &locale, name, source.path());
            debug_one(seed, &locale, name, source.path());
        });
    }
}
