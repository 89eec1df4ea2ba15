//! Records of several lines: keys on the command line, and their orders.

use std::cmp::Ordering;
use std::ffi::OsString;

use proptest::prelude::*;
use xsort_gnu::Locale;
use xsort_gnu::sort::{Command, LineKeys, Order, RecordPart, Records, Scratch, Ties};

use crate::understand;

fn command(words: &[&str]) -> Command {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    *understand(&words).unwrap_or_else(|refusal| panic!("{words:?}: {refusal}"))
}

fn order(words: &[&str]) -> Order {
    Order::new(&command(words), &Locale::c(), [7; 16])
}

#[test]
fn keys_of_records_say_where_they_are() {
    let key = |key: &str| {
        // The rule may come after the key.
        let command = command(&["-k", key, "--record-lines=4"]);
        assert_eq!(command.extras.records, Some(Records::Lines(4)));
        command.keys.into_iter().next().unwrap()
    };
    let ordinary = key("2.3n,4");
    assert_eq!(ordinary.part, RecordPart::Line(0));
    let later = key("L3.2.3n,4");
    assert_eq!(later.part, RecordPart::Line(2));
    assert_eq!((later.start_field, later.start_char, later.end), (1, 2, ordinary.end));
    assert_eq!(later.flags, ordinary.flags);
    assert_eq!(key("L2"), key("L2.1"));
    assert_eq!(key("L1.2,2"), key("2,2"));
    assert!(key("L2nr").flags.numeric && key("L2nr").flags.reverse);
    assert!(key("length").is_length && key("length").part == RecordPart::Whole);
    assert!(key("length(L2)r").is_length && key("length(L2)r").flags.reverse);
    assert_eq!(key("length(L2)").part, RecordPart::Line(1));
    assert_eq!(key("length(L2-)r").part, RecordPart::From(1));
    assert_eq!((key("L3-r").part, key("L3-r").flags.reverse), (RecordPart::From(2), true));
    let RecordPart::Match(expression) = key("/a/b(c)/n").part else { panic!("a match") };
    assert_eq!(expression.pattern(), "a/b(c)");
}

#[test]
fn records_begin_with_a_text_or_a_match() {
    let begins = |argument: &str, line: &str| {
        let records = command(&["--record-begins", argument]).extras.records.unwrap();
        records.begin_with(line.as_bytes())
    };
    assert!(begins(">", ">a") && !begins(">", "a>"));
    assert!(begins("/", "/a") && !begins("/", "a/"));
    assert!(begins(r"/\d/", "a1") && !begins(r"/^\d/", "a1"));
}

/// Keys of records as words, and each key's text by the plainest of means.
type Case = (&'static [&'static str], fn(&[u8]) -> Vec<u8>);

const CASES: [Case; 10] = [
    (&["-s"], |record| record.to_vec()),
    (&["-s", "-k1"], |record| line(record, 0)),
    (&["-s", "-k2,2", "-t:"], |record| field(&line(record, 0), 1)),
    (&["-s", "-kL2"], |record| line(record, 1)),
    (&["-s", "-kL2.2,2", "-t:"], |record| field(&line(record, 1), 1)),
    (&["-s", "-klength"], |record| vec![record.len() as u8]),
    (&["-s", "-klength(L2)"], |record| vec![line(record, 1).len() as u8]),
    (&["-s", "-kL2-"], |record| match record.iter().position(|&byte| byte == b'\n') {
        Some(end) => record[end + 1..].iter().copied().filter(|&byte| byte != b'\n').collect(),
        None => Vec::new(),
    }),
    (&["-s", "-k/b/"], |record| if record.contains(&b'b') { b"b".to_vec() } else { vec![] }),
    (&["-s", "-k/^b(.*)$/"], |record| {
        let mut lines = record.split(|&byte| byte == b'\n');
        lines.find_map(|line| line.strip_prefix(b"b")).unwrap_or_default().to_vec()
    }),
];

fn line(record: &[u8], number: usize) -> Vec<u8> {
    record.split(|&byte| byte == b'\n').nth(number).unwrap_or_default().to_vec()
}

fn field(line: &[u8], number: usize) -> Vec<u8> {
    line.split(|&byte| byte == b':').nth(number).unwrap_or_default().to_vec()
}

fn record() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        Just(b'\n'),
        Just(b':'),
        Just(b' '),
        Just(b'a'),
        Just(b'b'),
        Just(b'1'),
        0u8..4
    ];
    prop::collection::vec(byte, 0..20)
}

/// The order of keys that travel before their records.
fn by_keys(keys: &LineKeys, a: &[u8], b: &[u8]) -> Ordering {
    let mut scratch = Scratch::default();
    let [mut key_a, mut key_b] = [Vec::new(), Vec::new()];
    keys.push(a, &mut scratch, &mut key_a);
    keys.push(b, &mut scratch, &mut key_b);
    for (record, key) in [(a, &key_a), (b, &key_b)] {
        if let Some(part) = keys.part_of(record) {
            assert_eq!(&record[part], key);
        }
    }
    key_a.cmp(&key_b).then_with(|| match keys.ties() {
        Ties::Equal => Ordering::Equal,
        Ties::Bytes => a.cmp(b),
        Ties::Judged => keys.compare_ties(a, b, key_a.len(), &mut scratch),
    })
}

proptest! {
    #[test]
    fn records_compare_as_the_texts_of_their_keys(a in record(), b in record()) {
        for (words, text) in CASES {
            for rule in ["--record-lines=2", "--record-ends-blank", "--record-begins=a"] {
                let order = order(&[&[rule], words].concat());
                let expected = text(&a).cmp(&text(&b));
                let found = order.compare(&a, &b, &mut Scratch::default());
                prop_assert_eq!(found, expected, "{:?}", words);
                prop_assert_eq!(by_keys(&LineKeys::always(&order, false), &a, &b), expected);
            }
        }
    }

    #[test]
    fn keys_before_records_compare_as_the_records_do(a in record(), b in record()) {
        for words in [
            &["-n"][..], &["-r"], &["-f"], &["-R"], &["-k1,1R", "-k2n"], &["-kL2n", "-k1,1"],
            &["-klengthr", "-kL2.1,1V"], &["-k/[ab]+/f", "-r"], &["-k1,1g"], &["-k2,2r"],
            &["-klength(L2)", "-u"], &["-k1,1b", "-kL3M"], &["-d"],
        ] {
            let order = order(&[&["--record-lines=2"], words].concat());
            let expected = order.compare(&a, &b, &mut Scratch::default());
            let found = by_keys(&LineKeys::always(&order, false), &a, &b);
            prop_assert_eq!(found, expected, "{:?}", words);
        }
    }
}
