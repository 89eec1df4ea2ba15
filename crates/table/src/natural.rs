//! Texts with numbers in them, as bytes that compare as the texts do.
//!
//! ```text
//!  natural   file9 < file10 < file10a      text, each number as 30, count of digits, digits
//!  chrom     chr2 < chr10 < chrX < chrY < chrM < chrUn_1      class, and number or text
//!  version   1.9 < 1.10-rc2 < 1.10-rc10 < 1.10 < 1.10.1      numbers, then a part after a hyphen
//! ```

/// Precedes a number. It is the least digit, so that numbers sort where digits do.
const NUMBER: u8 = b'0';
/// A count of digits from which on another count byte follows.
const LONG: usize = 0xff;
/// Follows the last number of a version, or precedes each number.
const NUMBERS_END: u8 = 1;
const NUMBERS_GO_ON: u8 = 2;
/// Tells whether a pre-release part follows the numbers. A version without one is the later
/// version.
const HAS_PART: u8 = 1;
const HAS_NONE: u8 = 2;

/// Classes of sequences of a genome.
const NUMBERED: u8 = 1;
const SEX: u8 = 2;
const MITOCHONDRIAL: u8 = 4;
const OTHER_SEQUENCE: u8 = 5;
/// A read of SAM without a place.
const NO_SEQUENCE: u8 = 6;

/// Appends a text whose runs of digits compare as numbers. Leading zeros are ignored.
pub(crate) fn push_natural(out: &mut Vec<u8>, mut text: &[u8]) {
    while let Some(at) = text.iter().position(u8::is_ascii_digit) {
        out.extend_from_slice(&text[..at]);
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = text[at..].split_at(digits);
        out.push(NUMBER);
        push_number(out, number);
        text = rest;
    }
    out.extend_from_slice(text);
}

/// Appends the name of a sequence of a genome: by its number, then X, Y, M or MT, then all others.
/// Of two names that differ in `chr` before them only, the shorter one comes first.
pub(crate) fn push_chromosome(out: &mut Vec<u8>, name: &[u8]) {
    let is_prefixed = name.get(..3).is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"chr"));
    let own = if is_prefixed { &name[3..] } else { name };
    match own {
        [] if name.is_empty() => return,
        b"*" => out.push(NO_SEQUENCE),
        [_, ..] if own.iter().all(u8::is_ascii_digit) => {
            out.push(NUMBERED);
            push_number(out, own);
        }
        b"X" | b"x" => out.push(SEX),
        b"Y" | b"y" => out.push(SEX + 1),
        b"M" | b"m" | b"MT" | b"Mt" | b"mt" => out.push(MITOCHONDRIAL),
        _ => {
            out.push(OTHER_SEQUENCE);
            push_natural(out, name);
        }
    }
    out.extend_from_slice(name);
}

/// Appends a version: numbers with dots between them, an optional `v` before them, and an optional
/// hyphen and pre-release part after them. The part after a `+` is ignored, as in Semantic
/// Versioning. `None` if the text isn't a version.
pub(crate) fn push_version(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    let text = text.strip_prefix(b"v").unwrap_or(text);
    let end = memchr::memchr2(b'-', b'+', text).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    for number in numbers.split(|&byte| byte == b'.') {
        if number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
            return None;
        }
        out.push(NUMBERS_GO_ON);
        push_number(out, number);
    }
    out.push(NUMBERS_END);
    match rest.strip_prefix(b"-") {
        Some(part) => {
            out.push(HAS_PART);
            let end = memchr::memchr(b'+', part).unwrap_or(part.len());
            push_natural(out, &part[..end]);
        }
        None => out.push(HAS_NONE),
    }
    Some(())
}

/// Appends the number of significant digits, and the digits.
fn push_number(out: &mut Vec<u8>, digits: &[u8]) {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let digits = &digits[zeros..];
    let mut left = digits.len();
    while left >= LONG {
        out.push(LONG as u8);
        left -= LONG;
    }
    out.push(left as u8);
    out.extend_from_slice(digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn natural(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        push_natural(&mut out, text.as_bytes());
        out
    }

    fn version(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        push_version(&mut out, text.as_bytes()).map(|()| out)
    }

    #[test]
    fn numbers_in_texts_compare_as_numbers() {
        let (many, more) = (format!("a{}", "9".repeat(255)), format!("a1{}", "0".repeat(255)));
        let rising =
            ["", "!", "0", "7", "10", ":", "a", "a1", "a1b", "a2", "a10", &many, &more, "a:", "ab"];
        for pair in rising.windows(2) {
            assert!(natural(pair[0]) < natural(pair[1]), "{pair:?}");
        }
        assert_eq!(natural("a007b0"), natural("a7b00"));
    }

    #[test]
    fn chromosomes_come_in_the_usual_order() {
        let key = |name: &str| {
            let mut out = Vec::new();
            push_chromosome(&mut out, name.as_bytes());
            out
        };
        let rising = [
            "",
            "1",
            "chr1",
            "2",
            "chr2",
            "chr10",
            "chr22",
            "X",
            "chrX",
            "chrY",
            "MT",
            "chrM",
            "GL000192.1",
            "chr1_KI270706v1_random",
            "chr2_random",
            "chr10_random",
            "chrUn_1",
            "*",
        ];
        for pair in rising.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn versions_come_in_their_order() {
        let rising =
            ["0.9", "v1", "1.0.0-alpha.9", "1.0.0-alpha.10", "1.0.0-rc.1", "1.0.0", "1.10"];
        for pair in rising.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("1.2+build5"), version("v1.02"));
        for bad in ["", "v", "a", "1.", ".1", "1..2", "1.x", "-rc1"] {
            assert_eq!(version(bad), None, "{bad}");
        }
    }
}
