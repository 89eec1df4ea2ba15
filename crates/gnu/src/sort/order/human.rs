//! `-h`: numbers with a suffix, ordered by suffix first. `1K` is above `1023`, and also above
//! `2000`.
//!
//! The key is a byte for the suffix (0x80 for none, more above it, inverted for negative numbers),
//! then the number's key for `-n`.

use super::number::Numbers;

/// The rank of a suffix; 0 for none.
fn rank(suffix: u8) -> u8 {
    match suffix {
        b'k' => 1,
        _ => b"KMGTPEZY".iter().position(|&letter| letter == suffix).map_or(0, |at| at as u8 + 1),
    }
}

/// Appends the key of the number at the beginning of `text`.
pub(super) fn encode(numbers: &Numbers, text: &[u8], out: &mut Vec<u8>) {
    out.push(suffix(numbers, numbers.trim(text)));
    numbers.encode(text, out);
}

/// Appends the short key of the number at the beginning of `text`.
pub(super) fn encode_short(numbers: &Numbers, text: &[u8], out: &mut Vec<u8>) {
    out.push(suffix(numbers, numbers.trim(text)));
    numbers.encode_short(text, out);
}

fn suffix(numbers: &Numbers, text: &[u8]) -> u8 {
    let digits = Digits::read(numbers, text);
    match text.get(digits.end) {
        Some(&byte) if digits.highest > b'0' && text[0] == b'-' => 0x80 - rank(byte),
        Some(&byte) if digits.highest > b'0' => 0x80 + rank(byte),
        _ => 0x80,
    }
}

/// The digits that a suffix may follow. Stricter than the number itself: at most one separator may
/// follow a digit, and none the last one.
struct Digits {
    end: usize,
    /// The highest digit; 0 if there are no digits.
    highest: u8,
}

impl Digits {
    fn read(numbers: &Numbers, text: &[u8]) -> Self {
        let mut highest = 0;
        let mut at = usize::from(text.first() == Some(&b'-'));
        let mut is_separated = false;
        while let Some(&digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
            highest = highest.max(digit);
            at += 1;
            is_separated = text.get(at).is_some_and(|&byte| Some(byte) == numbers.thousands);
            at += usize::from(is_separated);
        }
        if is_separated {
            return Self { end: at - 1, highest };
        }
        if text.get(at) == Some(&numbers.decimal_point) {
            let fraction = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit());
            at += 1 + fraction.clone().count();
            highest = fraction.copied().fold(highest, u8::max);
        }
        Self { end: at, highest }
    }
}

/// Length of the number at the beginning of `text` that `--debug` marks, with the suffix if
/// `has_suffix`; 0 if there is none.
pub(super) fn marked(numbers: &Numbers, text: &[u8], has_suffix: bool) -> usize {
    let digits = Digits::read(numbers, text);
    let suffix = text.get(digits.end).is_some_and(|&byte| has_suffix && rank(byte) > 0);
    if digits.highest == 0 { 0 } else { digits.end + usize::from(suffix) }
}
