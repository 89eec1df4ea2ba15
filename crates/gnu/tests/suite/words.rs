//! Whatever the order and the lines: normalised keys, words of them and comparison never contradict
//! each other.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::ops::Range;
use std::sync::LazyLock;

use proptest::prelude::*;
use xsort_gnu::Locale;
use xsort_gnu::sort::{KeyPlace, LineKeys, Order, Scratch, Ties};

use crate::understand;

/// Command lines whose orders differ in how their words are made.
const COMMANDS: [&str; 53] = [
    "",
    "-r",
    "-n",
    "-nr",
    "-g",
    "-gr",
    "-h",
    "-hr",
    "-M",
    "-Mr",
    "-V",
    "-Vr",
    "-R",
    "-f",
    "-fr",
    "-d",
    "-i",
    "-b",
    "-fdb",
    "-f -s",
    "-k1,1bf",
    "-t: -k2,2f",
    "-t: -k2,2d -s",
    "-s -k1,1",
    "-k1,1",
    "-s -k2",
    "-u -k2,2",
    "-t: -k2",
    "-t: -k2r",
    "-t: -k1,1 -k2,2n",
    "-t: -k1,1r -k2,2nr",
    "-t: -k2,2n -k1,1",
    "-t: -k1,1f -k2",
    "-t: -k2.2,2.3 -k1",
    "-t: -k2,2n",
    "-t: -k2,2nr",
    "-rt: -k2,2h",
    "-t: -k1,1M -k2,2V -k3",
    "-t: -k1,1h -k2g",
    "-t: -k1,1R -k2",
    "-k1.2n,1.3 -k1",
    "-k2b,2 -k1r",
    "-rk1,1d -k2i",
    "-k2,2",
    "-k2b,2",
    "-k1b,1",
    "-k2.2,3.1",
    "-k2.2b,2",
    "-k3,1",
    "-k1.2,1.3",
    "-t: -k2,2",
    "-t: -k2.2b,3",
    "-t: -k3b,3",
];

fn order(command: &str) -> Order {
    order_in(command, &Locale::c())
}

fn order_in(command: &str, locale: &Locale) -> Order {
    let words: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
    Order::new(&understand(&words).unwrap(), locale, *b"0123456789abcdef")
}

/// Lines of pieces that mean something to some order.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"0",
        b"1",
        b"9",
        b"-",
        b".",
        b":",
        b" ",
        b"\t",
        b"a",
        b"A",
        b"b",
        b"~",
        b"K",
        b"M",
        b"jan",
        b"FEB",
        b"\0",
        b"\x01",
        b"\x02",
        b"\xff",
        b"e5",
        b"00000000000000000000",
        b"1234567890123456",
        b"999999999999999999999999",
        b"abcdefgh",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..9).prop_map(|pieces| pieces.concat())
}

fn key(order: &Order, line: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    order.encode(line, &mut Scratch::default(), &mut key);
    key
}

/// Eight bytes from `skip` on, with zeros past the end.
fn window(key: &[u8], skip: usize) -> u64 {
    let mut window = [0; 8];
    key.iter().skip(skip).zip(&mut window).for_each(|(byte, place)| *place = *byte);
    u64::from_be_bytes(window)
}

/// What is left of a line whose key was moved: its bytes before the key and those behind it.
fn without_key(line: &[u8], key: Range<usize>, first_stays: bool) -> [&[u8]; 2] {
    let before = line.len().min(key.start + usize::from(first_stays));
    [&line[..before], &line[before.max(key.end)..]]
}

/// Keys that are made apart from their lines order these as the order does.
fn check_keys_apart(
    order: &Order,
    is_unique: bool,
    a: &[u8],
    b: &[u8],
) -> Result<(), TestCaseError> {
    let mut scratch = Scratch::default();
    let compared = order.compare(a, b, &mut scratch);
    let Some(keys) = LineKeys::new(order, is_unique) else { return Ok(()) };
    let [key_a, key_b] = [a, b].map(|line| {
        let mut key = Vec::new();
        keys.push(line, &mut scratch, &mut key);
        if let Some(part) = keys.part_of(line) {
            assert_eq!(&line[part.clone()], key);
            assert!(keys.place() != KeyPlace::Beginning || part.start == 0);
        }
        key
    });
    let of_keys = key_a.cmp(&key_b).then_with(|| match keys.ties() {
        Ties::Equal => Ordering::Equal,
        Ties::Bytes => a.cmp(b),
        Ties::Judged => keys.compare_ties(a, b, key_a.len(), &mut scratch),
    });
    prop_assert_eq!(of_keys, compared);
    if key_a == key_b && keys.ties() != Ties::Bytes {
        let is_same = keys.ties() == Ties::Equal || keys.same(a, b, &mut scratch);
        prop_assert!(!is_unique || is_same == order.same(a, b, &mut scratch));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn keys_and_words_agree_with_comparison(
        command in prop::sample::select(&COMMANDS[..]),
        a in line(),
        b in line(),
    ) {
        let (order, mut scratch) = (order(command), Scratch::default());
        let compared = order.compare(&a, &b, &mut scratch);
        prop_assert_eq!(order.compare(&b, &a, &mut scratch), compared.reverse());

        let (key_a, key_b) = (key(&order, &a), key(&order, &b));
        match key_a.cmp(&key_b) {
            Ordering::Equal => prop_assert!(!order.is_exact() || compared == Ordering::Equal),
            different => prop_assert_eq!(different, compared),
        }
        let mut words = Vec::new();
        order.words([&a[..], &b[..]].into_iter(), 0, &mut scratch, &mut words);
        if words[0] != words[1] {
            prop_assert_eq!(words[0].cmp(&words[1]), compared);
        }
    }

    #[test]
    fn keys_apart_from_their_lines_agree_with_comparison(
        command in prop::sample::select(&COMMANDS[..]),
        is_unique: bool,
        a in line(),
        b in line(),
    ) {
        check_keys_apart(&order(command), is_unique, &a, &b)?;
    }

    /// Short lines of few bytes, whose keys are often the same where the lines aren't.
    #[test]
    fn lines_without_a_key_that_is_moved_compare_as_with_it(
        command in prop::sample::select(&COMMANDS[..]),
        lines in prop::collection::vec(prop::sample::select(&b" a:\x01"[..]), 0..6),
    ) {
        let order = order(command);
        let Some(keys) = LineKeys::new(&order, false) else { return Ok(()) };
        let KeyPlace::Moved { first_stays } = keys.place() else { return Ok(()) };
        let part_of = |line: &[u8]| keys.part_of(line).expect("keys that are moved are parts");
        for other in 0..4u32.pow(lines.len() as u32) {
            let other: Vec<u8> = (0..lines.len() as u32)
                .map(|at| b" a:\x01"[(other >> (2 * at)) as usize % 4])
                .collect();
            for shorter in 0..=other.len() {
                let [a, b] = [&lines[..], &other[..shorter]];
                if a[part_of(a)] == b[part_of(b)] {
                    let moved = |line| without_key(line, part_of(line), first_stays);
                    prop_assert_eq!(moved(a).cmp(&moved(b)), a.cmp(b), "{:?} {:?}", a, b);
                }
            }
        }
    }

    #[test]
    fn keys_apart_agree_in_a_language(
        command in prop::sample::select(&COMMANDS[..]),
        is_unique: bool,
        a in line(),
        b in line(),
    ) {
        static LOCALE: LazyLock<Option<Locale>> = LazyLock::new(|| {
            let locale = Locale::named("en_US.UTF-8");
            if locale.is_none() {
                eprintln!("SKIPPED: there is no locale en_US.UTF-8");
            }
            locale
        });
        let Some(locale) = &*LOCALE else { return Ok(()) };
        check_keys_apart(&order_in(command, locale), is_unique, &a, &b)?;
    }

    #[test]
    fn a_word_is_part_of_the_key(
        command in prop::sample::select(&COMMANDS[..]),
        line in line(),
        skip in 0_usize..40,
    ) {
        let order = order(command);
        let key = key(&order, &line);
        let word = order.word(&line, skip, &mut Scratch::default());
        prop_assert_eq!(word, window(&key, skip), "from {}", skip);
        let words = order.two_words(&line, skip, &mut Scratch::default());
        prop_assert_eq!(words, [window(&key, skip), window(&key, skip + 8)], "from {}", skip);
    }
}

#[test]
fn a_number_of_sixteen_digits_is_one_word() {
    let (order, mut scratch) = (order("-n -s"), Scratch::default());
    let numbers: [&[u8]; 9] = [
        b"-9999999999999999",
        b"-9999999999999998",
        b"-1.5",
        b"-.00000000000000000000000000001",
        b"0",
        b".00000000000000000000000000001",
        b"1.5",
        b"9999999999999998",
        b"9999999999999999",
    ];
    let words = numbers.map(|number| order.word(number, 0, &mut scratch));
    assert!(words.is_sorted_by(|a, b| a < b), "{words:x?}");
}

/// The keys of long lines would take several times the memory of these.
#[test]
fn long_keys_of_a_language_are_cut_and_the_lines_judged() {
    let Some(locale) = Locale::named("en_US.UTF-8") else {
        eprintln!("SKIPPED: there is no locale en_US.UTF-8");
        return;
    };
    let line = |end: &str| format!("x:{}{end}", "é-".repeat(80_000)).into_bytes();
    let (a, b) = (line("a"), line("b"));
    for command in ["-t: -k2,2", "-t: -k2,2r", "-rt: -k2,2 -k1n"] {
        let (order, mut scratch) = (order_in(command, &locale), Scratch::default());
        let keys = LineKeys::new(&order, false).expect("the keys of words are short");
        let [key_a, key_b] = [&a, &b].map(|line| {
            let mut key = Vec::new();
            keys.push(line, &mut scratch, &mut key);
            key
        });
        assert!(key_a == key_b && key_a.len() <= 64 << 10, "{command}: {}", key_a.len());
        let judged = keys.compare_ties(&a, &b, key_a.len(), &mut scratch);
        assert_eq!(judged, order.compare(&a, &b, &mut scratch), "{command}");
        assert_ne!(judged, Ordering::Equal, "{command}");
    }
}
