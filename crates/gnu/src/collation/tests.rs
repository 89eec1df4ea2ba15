//! Compares keys and comparisons with `strcoll`, in the locales that are installed, or those that
//! `XSORT_LOCALES` names.

use std::cmp::Ordering;

use super::*;
use xsort_testing::{Random, seeds};

/// Pieces of texts: letters of several scripts, with accents and without, punctuation, digits,
/// elements of several letters, control characters, and invalid bytes.
const PIECES: &[&str] = &[
    "a",
    "A",
    "á",
    "Á",
    "à",
    "â",
    "ä",
    "å",
    "Å",
    "æ",
    "Æ",
    "b",
    "B",
    "c",
    "C",
    "ç",
    "č",
    "ch",
    "CH",
    "Ch",
    "cs",
    "ccs",
    "d",
    "dz",
    "dzs",
    "ddzs",
    "đ",
    "e",
    "é",
    "É",
    "è",
    "ê",
    "f",
    "gy",
    "h",
    "i",
    "I",
    "ı",
    "İ",
    "l",
    "L",
    "ll",
    "ly",
    "l·",
    "ł",
    "n",
    "ñ",
    "ny",
    "o",
    "ö",
    "Ö",
    "ø",
    "ő",
    "œ",
    "r",
    "ř",
    "s",
    "ß",
    "š",
    "Š",
    "sz",
    "ssz",
    "ß",
    "t",
    "ty",
    "þ",
    "u",
    "ü",
    "ű",
    "v",
    "w",
    "y",
    "z",
    "Z",
    "zs",
    "ž",
    "aa",
    "AA",
    "0",
    "1",
    "12",
    "9",
    "½",
    " ",
    "  ",
    "-",
    "_",
    ".",
    ",",
    "'",
    "\"",
    "(",
    ")",
    "$",
    "€",
    "%",
    "&",
    "/",
    "\\",
    "\t",
    "\n",
    "\u{1}",
    "\u{7f}",
    "\u{a0}",
    "\u{ad}",
    "\u{301}",
    "\u{308}",
    "\u{200b}",
    "α",
    "ά",
    "Ω",
    "а",
    "б",
    "й",
    "Ж",
    "א",
    "ב",
    "ا",
    "ب",
    "अ",
    "क",
    "क्",
    "ก",
    "แก",
    "เก",
    "ไก",
    "ข่",
    "あ",
    "ア",
    "ー",
    "か",
    "が",
    "一",
    "丁",
    "龍",
    "中",
    "文",
    "가",
    "한",
    "ﬁ",
    "😀",
    "\u{10ffff}",
    "\u{fb2}\u{f71}",
];

fn locales() -> Vec<(String, Language)> {
    let names = std::env::var("XSORT_LOCALES");
    let names =
        names.as_deref().unwrap_or("en_US.UTF-8 de_DE.UTF-8 fr_CA.UTF-8 sv_SE.UTF-8 ja_JP.UTF-8");
    let load = |name: &str| {
        let handle = Handle::load(&std::ffi::CString::new(name).unwrap());
        if handle.is_none() {
            eprintln!("SKIPPED: there is no locale {name}");
        }
        Some((name.to_owned(), Language::new(Arc::new(handle?))))
    };
    names.split_whitespace().filter_map(load).collect()
}

fn text(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    let kinds = random.below(4);
    for _ in 0..random.below(10) {
        match (kinds, random.below(12)) {
            (0, _) => text.push(random.below(256) as u8),
            (1, _) => text.push(b"aAbBl1 -.$_("[random.below(12)]),
            (_, 0) => text.push(random.below(256) as u8),
            (2, 1) => text.push(0),
            _ => text.extend_from_slice(random.one_of(PIECES).as_bytes()),
        }
    }
    text
}

/// A text that differs little from `text`.
fn similar(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut other = text.to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(other.len() + 1);
        let until = (at + random.below(3)).min(other.len());
        let piece = if random.one_in(2) { random.one_of(PIECES) } else { "" };
        other.splice(at..until, piece.bytes());
    }
    other
}

fn key(language: &Language, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    language.encode(text, usize::MAX, &mut Work::default(), &mut key);
    key
}

fn short_key(language: &Language, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    language.encode_short(text, usize::MAX, &mut Work::default(), &mut key);
    key
}

#[test]
fn short_keys_of_words_are_short() {
    for (name, language) in locales() {
        assert!(language.has_short_keys(), "{name}");
        if name.starts_with("ja") {
            assert!(language.has_one_level(), "{name}");
            assert_eq!(short_key(&language, b" a-garden").len(), 10, "{name}: a byte a letter");
        }
        // In some languages the space is like a letter.
        let is_western = ["en_US", "de_DE", "fr_CA", "sv_SE"].contains(&&name[..5]);
        if is_western {
            assert_eq!(short_key(&language, b"garden").len(), 7, "{name}: a byte a letter");
        }
        let with_space = if ["en_US", "de_DE"].contains(&&name[..5]) { " garden" } else { "" };
        for word in ["Tomato", with_space, "q0123456789", ""] {
            let (short, whole) =
                (short_key(&language, word.as_bytes()), key(&language, word.as_bytes()));
            // At most three bytes a letter, and the ends of levels; a capital takes some more.
            assert!(short.len() <= 3 * word.len() + 10, "{name}: {word} {short:x?} {whole:x?}");
        }
    }
}

#[test]
fn short_keys_of_plain_words_are_those_of_any_text() {
    for (name, language) in locales() {
        let Some((rules, regular)) = language.regular() else { continue };
        for seed in seeds(300) {
            let random = &mut Random::new(seed);
            let bytes = 0..random.below(70);
            let text: Vec<u8> = bytes.map(|_| random.one_of(b" aAbcChlLnsyz09")).collect();
            let mut any = Vec::new();
            let Work { places, short, .. } = &mut Work::default();
            rules.encode_any(regular, &text, usize::MAX, (places, short), &mut any);
            assert_eq!(short_key(&language, &text), any, "seed {seed} {name} {text:?}");
        }
    }
}

#[test]
fn short_keys_that_are_cut_begin_as_whole_ones() {
    for (name, language) in locales() {
        for seed in seeds(100) {
            let random = &mut Random::new(seed);
            let text = [text(random), text(random)].concat();
            let (limit, whole) = (random.below(30), short_key(&language, &text));
            let mut cut = Vec::new();
            language.encode_short(&text, limit, &mut Work::default(), &mut cut);
            let limit = limit.min(whole.len());
            assert!(cut.len() >= limit, "seed {seed} {name} {text:?}");
            assert_eq!(cut[..limit], whole[..limit], "seed {seed} {name} {text:?}");
        }
    }
}

#[test]
fn keys_and_comparisons_are_strcolls() {
    for (name, language) in locales() {
        assert!(language.is_exact(), "the tables of {name} are refused");
        let [mut work_a, mut work_b] = [Work::default(), Work::default()];
        let [mut copy_a, mut copy_b] = [Vec::new(), Vec::new()];
        for seed in seeds(200) {
            let random = &mut Random::new(seed);
            for _ in 0..100 {
                let a = text(random);
                let b = if random.one_in(2) { text(random) } else { similar(&a, random) };
                let expected = match a == b {
                    true => Ordering::Equal,
                    false => {
                        c_library::compare(&language.handle, &a, &b, [&mut copy_a, &mut copy_b])
                    }
                };
                let pair = format!(
                    "seed {seed} {name}: {:?} {a:x?}\n{:?} {b:x?}",
                    String::from_utf8_lossy(&a),
                    String::from_utf8_lossy(&b)
                );
                assert_eq!(key(&language, &a).cmp(&key(&language, &b)), expected, "keys {pair}");
                let [short_a, short_b] = [&a, &b].map(|text| short_key(&language, text));
                assert_eq!(short_a.cmp(&short_b), expected, "short keys {pair}");
                let compared = language.compare(&a, &b, [&mut work_a, &mut work_b]);
                assert_eq!(compared, expected, "compare {pair}");
            }
        }
    }
}

/// A language with tables that aren't the locale's.
fn damaged(language: &Language, pieces: CollationPieces) -> Language {
    let rules = checked(pieces, &language.handle);
    Language { rules: Arc::new(rules.into()), ..Language::new(Arc::clone(&language.handle)) }
}

/// Swaps the tables' entries of two bytes.
fn swap(pieces: &mut CollationPieces, a: u8, b: u8) {
    let mut table = pieces.table.to_vec();
    (0..4).for_each(|at| table.swap(usize::from(a) * 4 + at, usize::from(b) * 4 + at));
    pieces.table = pieces.table.with_bytes(table);
}

#[test]
fn tables_that_contradict_strcoll_are_refused_and_it_orders_instead() {
    for (name, language) in locales() {
        let mut pieces = language.handle.collation().unwrap();
        swap(&mut pieces, b'a', b'b');
        let damaged = damaged(&language, pieces);
        assert!(!damaged.is_exact(), "{name}");
        let [mut work_a, mut work_b] = [Work::default(), Work::default()];
        for seed in seeds(500) {
            let random = &mut Random::new(seed);
            let a = text(random);
            let b = similar(&a, random);
            let expected = language.compare(&a, &b, [&mut work_a, &mut work_b]);
            let compared = damaged.compare(&a, &b, [&mut work_a, &mut work_b]);
            assert_eq!(compared, expected, "seed {seed} {name}");
            let by_key = key(&damaged, &a).cmp(&key(&damaged, &b));
            assert!([Ordering::Equal, expected].contains(&by_key), "seed {seed} {name}");
            assert_eq!(damaged.words::<1>(&a, 0), None);
        }
    }
}

/// Changes or cuts the bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    if random.one_in(4) {
        bytes.truncate(random.below(bytes.len() + 1));
        return;
    }
    for _ in 0..=random.below(40) {
        if !bytes.is_empty() {
            let at = random.below(bytes.len());
            bytes[at] = random.word() as u8;
        }
    }
}

#[test]
fn no_tables_however_damaged_make_it_panic() {
    for (_, language) in locales() {
        for seed in seeds(40) {
            let random = &mut Random::new(seed);
            let mut pieces = language.handle.collation().unwrap();
            let piece = match random.below(6) {
                0 => &mut pieces.rule_sets,
                1 => &mut pieces.table,
                2 => &mut pieces.weights,
                3 => &mut pieces.indirect,
                _ => &mut pieces.extra,
            };
            let mut bytes = piece.to_vec();
            damage(&mut bytes, random);
            *piece = piece.with_bytes(bytes);
            // Without the check, which refuses most.
            let rules = Tables::new(pieces).map(Rules::new);
            let language = Language::new(Arc::clone(&language.handle));
            let language = Language { rules: Arc::new(rules.into()), ..language };
            let [mut work_a, mut work_b] = [Work::default(), Work::default()];
            for _ in 0..100 {
                let (a, b) = (text(random), text(random));
                language.compare(&a, &b, [&mut work_a, &mut work_b]);
                language.words::<2>(&a, 0);
                key(&language, &a);
                short_key(&language, &a);
            }
        }
    }
}
