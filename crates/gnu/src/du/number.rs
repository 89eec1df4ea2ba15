//! Integers in du's notation: decimal, octal (`010`) or hexadecimal (`0x10`), positive or negative,
//! with an optional multiplying suffix.
//!
//! They are read as in C, up to the first byte that doesn't belong to them. So the number is known
//! even if its end is wrong.

use crate::getopt::{Refusal, bad_argument};

/// The number at the beginning of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// The number, or the nearest possible one if it is too large; `None` without digits and
    /// suffix.
    pub(super) value: Option<i128>,
    /// Bytes of the text that were understood.
    pub(super) used: usize,
    pub(super) problem: Option<Problem>,
}

/// The error of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    NoNumber,
    Suffix,
    TooLarge,
}

impl Problem {
    /// The error in GNU's words, for the argument `text` of `option`.
    pub(super) fn refusal(self, option: &str, text: &[u8]) -> Refusal {
        let refusal = match self {
            Problem::NoNumber => bad_argument("invalid ", option, text),
            Problem::Suffix => bad_argument("invalid suffix in ", option, text),
            Problem::TooLarge => {
                Refusal::new([option.as_bytes(), b" argument '", text, b"' too large"].concat())
            }
        };
        refusal.with_status(1)
    }
}

/// Parses the number in `text`, from `least` to `most`. `suffixes` are the letters that may follow.
pub(super) fn number(text: &[u8], least: i128, most: i128, suffixes: &[u8]) -> Number {
    let wrong = |problem| Number { value: None, used: 0, problem: Some(problem) };
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | 9..=13)).count();
    let (is_negative, signs) = match text.get(blanks) {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    if is_negative && least == 0 {
        return wrong(Problem::NoNumber);
    }
    let unsigned = &text[blanks + signs..];
    let (prefix, radix) = match *unsigned {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (2, 16),
        [b'0', ..] => (0, 8),
        _ => (0, 10),
    };
    let digits = unsigned[prefix..].iter().map_while(|&byte| char::from(byte).to_digit(radix));
    let count = digits.clone().count();
    let (mut value, mut used) = if count > 0 {
        // A number far beyond both ends stays there, whatever is added.
        let beyond =
            |sum: i128, digit: u32| (sum * i128::from(radix) + i128::from(digit)).min(1 << 100);
        (digits.fold(0, beyond), blanks + signs + prefix + count)
    } else {
        // A suffix without a number is one unit.
        match text.first() {
            Some(byte) if suffixes.contains(byte) => (1, 0),
            _ => return wrong(Problem::NoNumber),
        }
    };
    if is_negative {
        value = -value;
    }
    let mut is_too_large = !(least..=most).contains(&value);
    value = value.clamp(least, most);
    let rest = &text[used..];
    let unit = rest.first().filter(|byte| suffixes.contains(byte)).and_then(|&byte| power(byte));
    if let Some(power) = unit {
        let (base, length) = match rest[1..] {
            [b'i', b'B', ..] => (1024, 3),
            [b'B' | b'D', ..] => (1000, 2),
            _ => (1024, 1),
        };
        // Multiplying and clamping factor by factor prevents an overflow: at most 2^64 times 2^80.
        for _ in 0..power {
            value *= base;
            is_too_large |= !(least..=most).contains(&value);
            value = value.clamp(least, most);
        }
        used += length;
    }
    let problem = match (used < text.len(), is_too_large) {
        (true, _) => Some(Problem::Suffix),
        (false, true) => Some(Problem::TooLarge),
        (false, false) => None,
    };
    Number { value: Some(value), used, problem }
}

/// The power that a suffix stands for.
fn power(suffix: u8) -> Option<u32> {
    let letters: [&[u8]; 8] = [b"kK", b"mM", b"gG", b"tT", b"P", b"E", b"Z", b"Y"];
    letters.iter().position(|letters| letters.contains(&suffix)).map(|at| at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        let most = i128::from(u64::MAX);
        for (text, value, used, problem) in [
            ("12", Some(12), 2, None),
            (" +12", Some(12), 4, None),
            ("010", Some(8), 3, None),
            ("09", Some(0), 1, Some(Problem::Suffix)),
            ("0x1F", Some(31), 4, None),
            ("0x", Some(0), 1, Some(Problem::Suffix)),
            ("K", Some(1024), 1, None),
            ("1kB", Some(1000), 3, None),
            ("1KiB", Some(1024), 4, None),
            ("1KiBx", Some(1024), 4, Some(Problem::Suffix)),
            ("1Ki", Some(1024), 2, Some(Problem::Suffix)),
            ("MD", Some(1_000_000), 2, None),
            ("7q", Some(7), 1, Some(Problem::Suffix)),
            ("e", Some(1), 0, Some(Problem::Suffix)),
            ("1Y", Some(most), 2, Some(Problem::TooLarge)),
            (
                "99999999999999999999999999999999999999999999999",
                Some(most),
                47,
                Some(Problem::TooLarge),
            ),
            ("18446744073709551615", Some(most), 20, None),
            ("-1", None, 0, Some(Problem::NoNumber)),
            ("", None, 0, Some(Problem::NoNumber)),
            ("+K", None, 0, Some(Problem::NoNumber)),
        ] {
            let expected = Number { value, used, problem };
            assert_eq!(
                number(text.as_bytes(), 0, most, b"eEgGkKmMpPtTyYzZ0"),
                expected,
                "{text:?}"
            );
        }
        let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let signed = |text: &str| number(text.as_bytes(), least, most, b"kKmMGTPEZY0");
        assert_eq!(signed("-1M").value, Some(-1 << 20));
        assert_eq!(signed("-8E"), Number { value: Some(least), used: 3, problem: None });
        assert_eq!(signed("-9E").problem, Some(Problem::TooLarge));
        assert_eq!(signed("1g").problem, Some(Problem::Suffix));
        assert_eq!(signed("- 1").problem, Some(Problem::NoNumber));
    }
}
