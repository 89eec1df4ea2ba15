//! `-g`: floating-point numbers as `strtold` reads them, in 80 bits: 1e3, 0x1p4, inf, nan.
//!
//! Texts without a number sort first, then NaNs, then the numbers from minus infinity on. The key
//! is ten bytes: sign, exponent and mantissa, inverted for negative numbers. There are unused
//! values below the key of minus infinity, for the others. Zero has one key, whatever its sign.

use std::sync::Arc;

use crate::c_text::c_text;
use crate::locale::Locale;
use crate::sys::{Extended, Handle, MANTISSA_BITS};

/// A number as a key.
pub(super) type Key = [u8; 10];

/// The end of minus infinity's key, after two zeros.
const MINUS_INFINITY: [u8; 8] = [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];

/// Reads floating-point numbers in the notation of a locale.
#[derive(Clone, Debug)]
pub(super) struct Floats {
    handle: Arc<Handle>,
    decimal_point: u8,
}

impl Floats {
    pub(super) fn new(locale: &Locale) -> Self {
        Self { handle: Arc::clone(&locale.handle), decimal_point: locale.decimal_point }
    }

    /// The key of the number at the beginning of `text`. `work` is for a copy.
    pub(super) fn key(&self, text: &[u8], work: &mut Vec<u8>) -> Key {
        if let Some(key) = self.simple(text) {
            return key;
        }
        match self.handle.long_double(c_text(text, work)) {
            (_, 0) => Key::default(),
            (number, _) => key_of(number),
        }
    }

    /// True if the number at the beginning of `text` is a NaN. A text without a number isn't.
    pub(super) fn is_nan(&self, text: &[u8], work: &mut Vec<u8>) -> bool {
        let key = self.key(text, work);
        let (zeros, code) = key.split_at(2);
        zeros == [0, 0] && code != [0; 8] && code != MINUS_INFINITY
    }

    /// Length of the number at the beginning of `text`, with white space before it; 0 if there is
    /// none.
    pub(super) fn marked(&self, text: &[u8], work: &mut Vec<u8>) -> usize {
        self.handle.long_double(c_text(text, work)).1
    }

    /// The key of a number of at most nineteen digits without exponent, as most are. Five times as
    /// fast as the C library.
    ///
    /// In binary, m / 10^f is m / 5^f except for the exponent. m and 5^f fit in 64 bits (f up to
    /// 27), so one division gives the bits of the mantissa and a remainder to round by.
    fn simple(&self, text: &[u8]) -> Option<Key> {
        let spaces = text.iter().take_while(|&&byte| is_space(byte)).count();
        let text = &text[spaces..];
        let is_negative = text.first() == Some(&b'-');
        let digits = &text[usize::from(is_negative)..];
        let (mut value, mut count, mut point) = (0_u64, 0, None);
        let mut at = 0;
        while let Some(&byte) = digits.get(at) {
            match byte {
                b'0'..=b'9' => {
                    value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                    count += 1;
                }
                _ if byte == self.decimal_point && point.is_none() => point = Some(count),
                // An exponent, a hexadecimal number, or a word.
                b'a'..=b'z' | b'A'..=b'Z' => return None,
                _ => break,
            }
            at += 1;
        }
        if count == 0 || count > 19 {
            return None;
        }
        Some(key_of(divided(value, count - point.unwrap_or(count), is_negative)))
    }
}

/// `value / 10^fraction_digits`, rounded to the nearest, or to even if two are equally near.
fn divided(value: u64, fraction_digits: u32, is_negative: bool) -> Extended {
    let mut number = Extended::default();
    if value == 0 {
        return number;
    }
    let divisor = u128::from(5_u64.pow(fraction_digits));
    // With the highest of 128 bits set, and a divisor of 45 bits, the quotient has at least 83: up
    // to 64 for the mantissa, the rest to round by.
    let shift = 64 + value.leading_zeros();
    let numerator = u128::from(value) << shift;
    let (quotient, remainder) = (numerator / divisor, numerator % divisor);
    let excess = quotient.ilog2() - (MANTISSA_BITS - 1);
    let (mut mantissa, rest, half) =
        (quotient >> excess, quotient & ((1 << excess) - 1), 1_u128 << (excess - 1));
    if rest > half || (rest == half && (remainder > 0 || mantissa & 1 == 1)) {
        mantissa += 1;
    }
    let carry = (mantissa >> MANTISSA_BITS) as u32;
    let exponent = 16_383 + (MANTISSA_BITS - 1) + excess + carry - shift - fraction_digits;
    number[..8]
        .copy_from_slice(&(((mantissa >> carry) as u64) << (64 - MANTISSA_BITS)).to_le_bytes());
    number[8..].copy_from_slice(&(exponent as u16 | u16::from(is_negative) << 15).to_le_bytes());
    number
}

fn key_of(number: Extended) -> Key {
    let mut key = number;
    key.reverse();
    let is_negative = key[0] & 0x80 != 0;
    let is_infinite_or_nan = key[0] & 0x7F == 0x7F && key[1] == 0xFF;
    if is_infinite_or_nan && key[2..] != [0x80, 0, 0, 0, 0, 0, 0, 0] {
        return key_of_nan(number);
    }
    if key[2..] == [0; 8] {
        key = Key::default();
        key[0] = 0x80;
    } else if is_negative {
        key.iter_mut().for_each(|byte| *byte = !*byte);
    } else {
        key[0] |= 0x80;
    }
    key
}

/// The key of a NaN. GNU sort orders NaNs by their bytes, in memory's order: the mantissa's from
/// the lowest on, then the sign. The two highest bits are always set. (It also compares six bytes
/// of padding with arbitrary content. This function doesn't, so equal NaNs may differ in GNU sort.)
fn key_of_nan(number: Extended) -> Key {
    let mantissa =
        u64::from_be_bytes(*number.first_chunk().expect("ten bytes are more than eight"));
    let code = (mantissa >> 8 << 6 | mantissa & 0x3F) << 1 | u64::from(number[9] >> 7);
    let mut key = Key::default();
    // 0 means no number; the highest value is minus infinity's.
    key[2..].copy_from_slice(&(code + 1).min((1 << 63) - 2).to_be_bytes());
    key
}

/// White space of C, which includes more than blanks.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_numbers_are_the_c_librarys() {
        let floats = Floats::new(&Locale::c());
        let mut work = Vec::new();
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (value, digits) = (state >> (state % 60), state >> 59);
            let mut text = format!("{value:020}")[20 - (1 + digits as usize % 19)..].to_owned();
            text.insert((state >> 40) as usize % (text.len() + 1), '.');
            let text = if state & 1 == 0 { text } else { format!("-{text}") };
            let exact = key_of(floats.handle.long_double(c_text(text.as_bytes(), &mut work)).0);
            assert_eq!(floats.simple(text.as_bytes()), Some(exact), "{text}");
        }
    }
}
