//! Decimal numbers of any length, as bytes that compare as the numbers do.
//!
//! A number is `0.DIGITS` times ten to the power of `exponent`; its digits neither begin nor end
//! with a zero.
//!
//! ```text
//!  zero       80
//!  positive   a0 .. dc: exponent -30 .. 30 | pairs of digits, each 10 + 0 .. 99 | 0f
//!             9f or dd, for those below and above, and the exponent in 8 bytes | pairs | 0f
//!  negative   the same, inverted
//! ```

use xsort_gnu::sort::nearest;

/// Pairs of digits that count for the nearest floating-point number.
const NEAREST_PAIRS: u32 = 8;

/// The exponents that the first byte can represent.
const SHORT: std::ops::RangeInclusive<i64> = -30..=30;

/// Longest text whose digits are gathered in one pass.
const SHORT_BYTES: usize = 32;

/// Appends the bytes of a decimal number: a sign, digits, a fraction, an exponent. `None` if the
/// text isn't one.
pub(crate) fn push_decimal(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if push_short(out, is_negative, text).is_some() {
        return Some(());
    }
    let (mantissa, power) = match memchr::memchr2(b'e', b'E', text) {
        Some(at) => (&text[..at], exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match memchr::memchr(b'.', mantissa) {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = || whole.iter().chain(fraction);
    if !digits().all(u8::is_ascii_digit) {
        return None;
    }
    let Some(first) = digits().position(|&digit| digit != b'0') else {
        out.push(0x80);
        return Some(());
    };
    let behind = digits().rev().take_while(|&&digit| digit == b'0').count();
    let last = whole.len() + fraction.len() - 1 - behind;
    let exponent = (whole.len() as i64 - first as i64).checked_add(power)?;
    let start = out.len();
    if SHORT.contains(&exponent) {
        out.push((0xa0 + exponent - SHORT.start()) as u8);
    } else {
        out.push(if exponent < 0 { 0x9f } else { 0xdd });
        out.extend((exponent as u64 ^ 1 << 63).to_be_bytes());
    }
    let mut rest = digits().skip(first).take(last + 1 - first).map(|digit| digit - b'0');
    while let Some(ten) = rest.next() {
        out.push(0x10 + 10 * ten + rest.next().unwrap_or(0));
    }
    out.push(0x0f);
    if is_negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(())
}

/// Reads the bytes of a decimal number, and returns the nearest floating-point number.
pub(crate) fn nearest_decimal(bytes: &mut impl Iterator<Item = u8>) -> f64 {
    let Some(first) = bytes.next().filter(|&first| first != 0x80) else { return 0.0 };
    let is_negative = first < 0x80;
    let turn = if is_negative { 0xff } else { 0 };
    let mut bytes = bytes.map(|byte| byte ^ turn);
    let exponent = match first ^ turn {
        0x9f | 0xdd => {
            let bits = bytes.by_ref().take(8).fold(0, |bits, byte| bits << 8 | u64::from(byte));
            (bits ^ 1 << 63).cast_signed()
        }
        short => i64::from(short) - 0xa0 + SHORT.start(),
    };
    let (mut digits, mut count) = (0, 0);
    // Further digits hardly change the number, but they belong to it.
    for pair in bytes.take_while(|&byte| byte != 0x0f).map(|byte| u64::from(byte) - 0x10) {
        if count < NEAREST_PAIRS {
            digits = 100 * digits + pair;
            count += 1;
        }
    }
    let number = nearest(digits * 100u64.pow(NEAREST_PAIRS - count), exponent);
    if is_negative { -number } else { number }
}

/// Appends a short number without sign and exponent, as most are, in one pass. `None` for any other
/// text.
fn push_short(out: &mut Vec<u8>, is_negative: bool, text: &[u8]) -> Option<()> {
    let (mut digits, mut count, mut whole) = ([0; SHORT_BYTES + 1], 0, None);
    if text.len() > SHORT_BYTES {
        return None;
    }
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                digits[count] = byte - b'0';
                count += 1;
            }
            b'.' if whole.is_none() => whole = Some(count),
            _ => return None,
        }
    }
    if count == 0 {
        return None;
    }
    let whole = whole.unwrap_or(count);
    let Some(first) = digits[..count].iter().position(|&digit| digit != 0) else {
        out.push(0x80);
        return Some(());
    };
    while digits[count - 1] == 0 {
        count -= 1;
    }
    let exponent = whole as i64 - first as i64;
    if !SHORT.contains(&exponent) {
        return None;
    }
    let turn = if is_negative { 0xff } else { 0 };
    out.push((0xa0 + exponent - SHORT.start()) as u8 ^ turn);
    // A zero follows the last digit.
    let pairs = digits[first..count + 1].chunks_exact(2).take((count - first).div_ceil(2));
    out.extend(pairs.map(|pair| (0x10 + 10 * pair[0] + pair[1]) ^ turn));
    out.push(0x0f ^ turn);
    Some(())
}

/// True if the text is digits with an optional sign.
pub(crate) fn is_whole(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Parses an exponent, limited to 18 digits: larger ones are all equal.
fn exponent(text: &[u8]) -> Option<i64> {
    if !is_whole(text) {
        return None;
    }
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let value = digits
        .iter()
        .fold(0i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    let value = value.min(999_999_999_999_999_999);
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        push_decimal(&mut out, text.as_bytes()).map(|()| out)
    }

    #[test]
    fn numbers_come_in_their_order() {
        let rising = [
            "-1e999999999999",
            "-1e400",
            "-9007199254740993",
            "-9007199254740992",
            "-10.01",
            "-10",
            "-9.99",
            "-1",
            "-0.1",
            "-0.099",
            "-1e-40",
            "0",
            "1e-400",
            "1e-40",
            "0.0001",
            "0.1",
            "0.10001",
            "0.11",
            "1",
            "1.5",
            "9",
            "10",
            "12",
            "120",
            "123",
            "9007199254740992",
            "9007199254740993",
            "1e29",
            "1e30",
            "1e31",
            "1e400",
        ];
        for pair in rising.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn one_value_has_one_key() {
        for same in [&["0", "-0", "0.00", "+0e7", ".0"][..], &["1", "1.0", "01", "0.1e1", "10e-1"]]
        {
            assert!(same.iter().all(|text| key(text).is_some() && key(text) == key(same[0])));
        }
        for bad in ["", "-", ".", "1e", "1e+", "1.2.3", "0x1", "1 2", "1,5", "e5", "--1"] {
            assert_eq!(key(bad), None, "{bad}");
        }
    }

    proptest! {
        /// One pass and several build the same key.
        #[test]
        fn short_numbers_have_the_keys_of_others(text in "[-+]?[0.1-9]{0,34}") {
            prop_assert_eq!(key(&text), key(&format!("{text}e0")));
        }

        #[test]
        fn they_compare_as_integers(a: i64, b: i64, small in -99i64..99, places in 0usize..12) {
            let text = |value: i64| {
                let digits = format!("{:0>13}", value.unsigned_abs());
                let (whole, fraction) = digits.split_at(digits.len() - places);
                format!("{}{whole}.{fraction}", if value < 0 { "-" } else { "" })
            };
            for (a, b) in [(a, b), (a, a.wrapping_add(small)), (small, b % 100)] {
                prop_assert_eq!(key(&text(a)).cmp(&key(&text(b))), a.cmp(&b));
            }
        }
    }
}
