//! Random command lines and inputs, small enough that lines tie and options meet.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use xsort_testing::Random;

/// An input: up to forty lines.
pub(crate) fn input(random: &mut Random, terminator: u8, is_utf8: bool) -> Vec<u8> {
    let alphabet = if is_utf8 && random.one_in(2) { UTF8 } else { random.one_of(&ALPHABETS) };
    let mut input = Vec::new();
    let pieces = 1 + random.below(8);
    for _ in 0..random.below(40) {
        for _ in 0..random.below(pieces + 1) {
            let piece = random.one_of(alphabet);
            input.extend(piece.iter().filter(|&&byte| byte != terminator));
        }
        input.push(terminator);
    }
    if random.one_in(4) {
        input.pop();
    }
    input
}

/// The words of a sort or a check that is mostly accepted.
pub(crate) fn words(random: &mut Random) -> Vec<OsString> {
    let mut words: Vec<String> = Vec::new();
    for _ in 0..[0, 0, 1, 1, 1, 2, 2, 3][random.below(8)] {
        words.push(format!("-{}", flags(random)));
    }
    if random.one_in(2) {
        words.push(
            random
                .one_of(&["-t:", "-t ", "-ta", "-t1", "-t,", "-t\\0", "-t.", "-t\u{1}"])
                .to_owned(),
        );
    }
    for _ in 0..[0, 1, 1, 1, 2, 3][random.below(6)] {
        words.push(if random.one_in(12) {
            obsolete_key(random)
        } else {
            format!("-k{}", key(random))
        });
    }
    for option in ["-s", "-u", "-z", "-c", "-C", "-r"] {
        if random.one_in(6) {
            words.push(option.to_owned());
        }
    }
    words.iter().flat_map(|word| word.split('|')).map(OsString::from).collect()
}

fn flags(random: &mut Random) -> String {
    let flags = [
        "n", "n", "r", "f", "d", "i", "b", "g", "h", "M", "V", "R", "nr", "fd", "bf", "bn", "hf",
        "Vr", "fV", "Vd", "gr", "Rf", "hr", "Mr",
    ];
    random.one_of(&flags).to_owned()
}

fn key(random: &mut Random) -> String {
    let mut key = position(random, 1);
    key += &some_flags(random);
    if random.one_in(2) {
        key += ",";
        key += &position(random, 0);
        key += &some_flags(random);
    }
    key
}

fn obsolete_key(random: &mut Random) -> String {
    let end = if random.one_in(2) { format!("|-{}", 1 + random.below(3)) } else { String::new() };
    format!("+{}{}{end}", random.below(3), if random.one_in(3) { ".1n" } else { "" })
}

fn some_flags(random: &mut Random) -> String {
    if random.one_in(2) { flags(random) } else { String::new() }
}

fn position(random: &mut Random, least_char: usize) -> String {
    let field = 1 + random.below(3);
    if random.one_in(3) {
        format!("{field}.{}", least_char + random.below(4))
    } else {
        field.to_string()
    }
}

/// Words that need not make sense.
pub(crate) fn odd_words(random: &mut Random) -> Vec<OsString> {
    let count = 1 + random.below(5);
    let words = (0..count).map(|_| {
        if random.one_in(8) { random.one_of(&ODD_FILES) } else { random.one_of(&ODD_WORDS) }
    });
    words.map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// Pieces that lines are made of: numbers, words, bytes, sizes, months, versions, long doubles,
/// fields, and words around eight bytes.
const ALPHABETS: [&[&[u8]]; 9] = [
    &[
        b"0",
        b"1",
        b"9",
        b"-",
        b".",
        b" ",
        b",",
        b"00",
        b"10",
        b"123456789",
        b"99999999999999999999",
    ],
    &[b"a", b"A", b"b", b"B", b" ", b"\t", b"-", b"_"],
    &[b"a", b"\0", b"\x01", b"\xff", b"\xe9", b"\n", b" ", b"~", b"\x80"],
    &[
        b"1", b"2", b"K", b"k", b"M", b"G", b"Y", b"m", b".", b"-", b" ", b"0", b",", b"Ki", b"R",
        b"1000",
    ],
    &[b"Jan", b"jan", b"FEB", b"Mar", b" ", b"dec", b"Decx", b"ja", b"\t", b"1", b"may", b"Okt"],
    &[
        b"a",
        b"1",
        b"10",
        b"01",
        b".",
        b"..",
        b"~",
        b"-",
        b"b",
        b".c",
        b".tar",
        b".gz",
        b"+",
        b"00",
        b"123456789",
        b"_",
    ],
    &[
        b"1",
        b"e",
        b"E5",
        b".",
        b"-",
        b"+",
        b"inf",
        b"0x",
        b"p3",
        b"0",
        b"9",
        b" ",
        b"\x0b",
        b"12345678901234567",
        b"e-400",
        b"e4940",
    ],
    &[b"x", b":", b"a", b"1", b"2", b"::", b" "],
    &[b"ab", b"abcdefgh", b"abcdefghi", b"abcdefg", b"c", b" ", b"12345678", b":"],
];

/// The same in UTF-8, with a byte that isn't.
const UTF8: &[&[u8]] = &[
    "é".as_bytes(),
    "É".as_bytes(),
    b"e",
    b"E",
    "ß".as_bytes(),
    b"ss",
    b"-",
    b" ",
    "中".as_bytes(),
    b"\xc3",
    b"z",
    b"Z",
    b"\0",
    "ä".as_bytes(),
    "¤".as_bytes(),
    b"(",
    b"$",
    b"a",
    b".",
];

/// Words, few of which make sense together.
const ODD_WORDS: [&[u8]; 74] = [
    b"-n",
    b"-k",
    b"1",
    b"-k1",
    b"-k0",
    b"-k1.0",
    b"-k1,0",
    b"-k1,2.0",
    b"-k1nM",
    b"-k2x",
    b"-kx",
    b"-k1,",
    b"-k1.",
    b"-k1,1.x",
    b"-k-1",
    b"-k 1",
    b"-t",
    b"-t:",
    b"-tab",
    b"-t\\0",
    b"-t\xc3\xa9",
    b"-S",
    b"-S1K",
    b"-S1x",
    b"-S0",
    b"-S50%",
    b"-S1Y",
    b"-Sb",
    b"--sort=",
    b"--sort=n",
    b"--sort=month",
    b"--sort=x",
    b"--check",
    b"--check=q",
    b"--check=",
    b"--check=diag",
    b"-c",
    b"-C",
    b"--so",
    b"--s",
    b"--st",
    b"--rev",
    b"--r",
    b"--reverse=1",
    b"--batch-size=1",
    b"--batch-size=2",
    b"--batch-size=x",
    b"--batch-size=99999",
    b"--parallel=0",
    b"--parallel=2",
    b"--parallel",
    b"--random-source=a",
    b"--random-source=b",
    b"-y",
    b"-y2",
    b"-M",
    b"-g",
    b"-h",
    b"-d",
    b"-i",
    b"-V",
    b"-R",
    b"-x",
    b"-\xff",
    b"--\xff=1",
    b"-nk1",
    b"-kn",
    b"--debu",
    b"-T/tmp",
    b"-T",
    b"--key=1,2q",
    b"--field-sep=xy",
    b"--ignore-c",
    b"--buffer-size=z",
];
/// Words that name a file, which are rarer.
const ODD_FILES: [&[u8]; 7] =
    [b"-o", b"-ox", b"--output=x", b"+1", b"-2", b"--files0-from=-", b"-"];
