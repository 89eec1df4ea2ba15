//! `-n`: a number of any length as bytes that compare as the number does.
//!
//! A number is blanks, an optional minus sign, digits with group separators anywhere among them,
//! and an optional decimal point and digits. Anything else is zero. In the form 0.d1d2d3... * 10^e
//! with d1 > 0, its key is
//!
//! ```text
//! byte 0     0x80 zero; above: e, from 0x82 (e = -30) to 0xFE (e = 94);
//!            0x81 and 0xFF: e is less or more, and is in bytes 1-7
//! 7 bytes    sixteen digits as a number, times 2, plus 1 if there are more that aren't all zero;
//!            then 7 bytes for those
//! ```
//!
//! Zero has seven zero bytes too, so the first word holds all of the number's first part and
//! nothing after it. All bits of a negative number are inverted. Sixteen digits take 53.2 bits, and
//! a byte of sign and exponent leaves 56. So most numbers fit one word, and its last bit tells
//! whether they do.
//!
//! The short key has no byte below 3, except with an extreme exponent:
//!
//! ```text
//! byte 0     as above, with 7 more of an exponent that is less or more
//! pairs      4 + two digits each, without pairs of zeros at the end; then 3; nothing for zero
//! ```

use std::cmp::Ordering;

use super::nearest::nearest;
use crate::locale::Locale;

/// Digits in seven bytes.
const GROUP_DIGITS: usize = 16;
const ZERO: u64 = 0x80 << 56;
/// Byte 0 of exponents below or above the range.
const BELOW: u64 = 0x81;
const ABOVE: u64 = 0xFF;
/// The range of exponents that byte 0 represents.
const EXPONENT_MIN: i64 = -30;
const EXPONENT_MAX: i64 = 94;

/// In a short key: two zero digits, the smallest byte of a pair.
const PAIR: u8 = 4;
/// The end of the pairs in a short key.
const PAIRS_END: u8 = 3;
/// The place value of the first two of sixteen digits.
const FIRST_PAIR: u64 = 10_u64.pow(GROUP_DIGITS as u32 - 2);

/// The notation of numbers.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) decimal_point: u8,
    /// The group separator that is skipped before a number's suffix.
    pub(super) thousands: Option<u8>,
    /// The group separator that is skipped within a number.
    skipped: Option<u8>,
    blank: Box<[bool; 256]>,
}

/// A number that was read: its first digits, and the text of the others.
struct Number<'a> {
    is_negative: bool,
    /// The decimal exponent; 0 for zero.
    exponent: i64,
    /// The first sixteen digits, padded with zeros; 0 for zero.
    digits: u64,
    /// True if non-zero digits follow.
    has_more: bool,
    /// The number from its first non-zero digit on.
    text: &'a [u8],
}

impl Numbers {
    pub(super) fn new(locale: &Locale) -> Self {
        Self {
            decimal_point: locale.decimal_point,
            thousands: locale.thousands,
            skipped: skipped(locale),
            blank: Box::new(locale.classes.blank),
        }
    }

    /// `text` without leading blanks.
    #[inline]
    pub(super) fn trim<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let blanks = text.iter().take_while(|&&byte| self.blank[usize::from(byte)]).count();
        &text[blanks..]
    }

    /// The floating-point number nearest to the number at the beginning of `text`.
    pub(super) fn nearest(&self, text: &[u8]) -> f64 {
        let number = self.read(text);
        let magnitude = nearest(number.digits, number.exponent);
        if number.is_negative { -magnitude } else { magnitude }
    }

    /// The first eight bytes of the key of the number at the beginning of `text`.
    #[inline]
    pub(super) fn word(&self, text: &[u8]) -> u64 {
        self.read(text).word()
    }

    /// The word of the number at the beginning of `text`, if it is the whole key.
    #[inline]
    pub(super) fn whole_word(&self, text: &[u8]) -> Option<u64> {
        let number = self.read(text);
        (!number.has_more && !number.is_extreme()).then(|| number.word())
    }

    /// Orders the numbers at the beginnings of two texts.
    pub(super) fn compare(&self, a: &[u8], b: &[u8], scratch: [&mut Vec<u8>; 2]) -> Ordering {
        let (a, b) = (self.read(a), self.read(b));
        let first = a.word().cmp(&b.word());
        if first != Ordering::Equal || !(a.has_more || a.is_extreme()) {
            return first;
        }
        let keys = scratch.map(|key| {
            key.clear();
            key
        });
        self.encode_number(&a, keys[0]);
        self.encode_number(&b, keys[1]);
        keys[0].cmp(&keys[1])
    }

    /// Appends the key of the number at the beginning of `text`.
    pub(super) fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        self.encode_number(&self.read(text), out);
    }

    /// Appends a key of the number at the beginning of `text` that is as short as its digits, for
    /// keys that travel before their lines.
    pub(super) fn encode_short(&self, text: &[u8], out: &mut Vec<u8>) {
        let number = self.read(text);
        let start = out.len();
        let bytes = Number { is_negative: false, ..number }.word().to_be_bytes();
        out.push(bytes[0]);
        if number.is_extreme() {
            out.extend_from_slice(&bytes[1..]);
        }
        if number.has_more {
            let digits = number.text.iter().filter(|byte| byte.is_ascii_digit());
            let digits: Vec<u8> = digits.map(|byte| byte - b'0').collect();
            out.extend(digits.chunks(2).map(|two| PAIR + 10 * two[0] + two.get(1).unwrap_or(&0)));
            let zeros = out.iter().rev().take_while(|&&pair| pair == PAIR).count();
            out.truncate(out.len() - zeros);
        } else {
            let mut left = number.digits;
            while left != 0 {
                out.push(PAIR + (left / FIRST_PAIR) as u8);
                left = left % FIRST_PAIR * 100;
            }
        }
        if number.digits != 0 {
            out.push(PAIRS_END);
        }
        if number.is_negative && number.digits != 0 {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    #[inline]
    fn read<'a>(&self, text: &'a [u8]) -> Number<'a> {
        let mut rest = self.trim(text);
        let is_negative = rest.first() == Some(&b'-');
        rest = &rest[usize::from(is_negative)..];
        let zeros =
            rest.iter().take_while(|&&byte| byte == b'0' || Some(byte) == self.skipped).count();
        rest = &rest[zeros..];

        let mut sum = Sum::default();
        let mut at = sum.add_run(rest);
        while let Some(&byte) = rest.get(at) {
            if byte.is_ascii_digit() {
                sum.add(byte);
            } else if Some(byte) != self.skipped {
                break;
            }
            at += 1;
        }
        let mut exponent = sum.count as i64;
        if rest.get(at) == Some(&self.decimal_point) {
            at += 1;
            if exponent == 0 {
                let zeros = rest[at..].iter().take_while(|&&byte| byte == b'0').count();
                exponent = -(zeros as i64);
                rest = &rest[at + zeros..];
                at = 0;
            }
            at += sum.add_run(&rest[at..]);
            while let Some(&digit) = rest.get(at).filter(|byte| byte.is_ascii_digit()) {
                sum.add(digit);
                at += 1;
            }
        }
        let digits = sum.digits();
        let exponent = if digits == 0 { 0 } else { exponent };
        Number { is_negative, exponent, digits, has_more: sum.has_more, text: &rest[..at] }
    }

    fn encode_number(&self, number: &Number<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let magnitude = Number { is_negative: false, ..*number };
        out.extend_from_slice(&magnitude.word().to_be_bytes());
        if number.is_extreme() {
            out.extend_from_slice(&number.group().to_be_bytes()[1..]);
        }
        if number.has_more {
            encode_groups(number.text, out);
        }
        if number.is_negative && number.digits != 0 {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

/// Appends the groups after the first, for a number that has them.
fn encode_groups(text: &[u8], out: &mut Vec<u8>) {
    let last =
        text.iter().rposition(|byte| (b'1'..=b'9').contains(byte)).expect("more digits than zeros");
    let digits = || text[..=last].iter().filter(|byte| byte.is_ascii_digit());
    let mut left = digits().count() - GROUP_DIGITS;
    let mut digits = digits().skip(GROUP_DIGITS);
    while left > 0 {
        let mut sum = Sum::default();
        digits.by_ref().take(GROUP_DIGITS).for_each(|&digit| sum.add(digit));
        left -= left.min(GROUP_DIGITS);
        let group = sum.digits() << 1 | u64::from(left > 0);
        out.extend_from_slice(&group.to_be_bytes()[1..]);
    }
}

/// The byte that is skipped in numbers. GNU sort uses 128 for "none" and reads bytes as unsigned.
/// So in a locale without a separator, this byte is one. A separator from 128 on, which it holds as
/// a signed value, never matches.
fn skipped(locale: &Locale) -> Option<u8> {
    locale.thousands.map_or(Some(0x80), |byte| Some(byte).filter(u8::is_ascii))
}

impl Number<'_> {
    #[inline]
    fn word(&self) -> u64 {
        if self.digits == 0 {
            return ZERO;
        }
        let word = match self.exponent {
            EXPONENT_MIN..=EXPONENT_MAX => {
                (self.exponent - EXPONENT_MIN + BELOW as i64 + 1).cast_unsigned() << 56
                    | self.group()
            }
            ..EXPONENT_MIN => BELOW << 56 | ((1 << 55) + self.exponent).cast_unsigned(),
            _ => ABOVE << 56 | self.exponent.cast_unsigned(),
        };
        if self.is_negative { !word } else { word }
    }

    #[inline]
    fn group(&self) -> u64 {
        self.digits << 1 | u64::from(self.has_more)
    }

    fn is_extreme(&self) -> bool {
        !(EXPONENT_MIN..=EXPONENT_MAX).contains(&self.exponent)
    }
}

/// The digits of a number from its first non-zero one on.
#[derive(Default)]
struct Sum {
    value: u64,
    count: usize,
    has_more: bool,
}

impl Sum {
    #[inline]
    fn add(&mut self, digit: u8) {
        if self.count < GROUP_DIGITS {
            self.value = self.value * 10 + u64::from(digit - b'0');
        } else {
            self.has_more |= digit != b'0';
        }
        self.count += 1;
    }

    /// Adds the digits at the beginning of `text`, eight at a time while they fit. Returns their
    /// number. Some may be left.
    #[inline]
    fn add_run(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let (value, count) = eight_digits(first_eight(rest));
            if self.count + count > GROUP_DIGITS {
                break;
            }
            self.value = self.value * POWERS[count] + value;
            self.count += count;
            at += count;
            if count < 8 {
                break;
            }
        }
        at
    }

    /// The first sixteen digits, padded with zeros.
    #[inline]
    fn digits(&self) -> u64 {
        self.value * POWERS[GROUP_DIGITS.saturating_sub(self.count)]
    }
}

const POWERS: [u64; GROUP_DIGITS + 1] = {
    let mut powers = [1; GROUP_DIGITS + 1];
    let mut at = 1;
    while at <= GROUP_DIGITS {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The first eight bytes of `text`, with zeros past its end.
#[inline]
fn first_eight(text: &[u8]) -> [u8; 8] {
    if let Some(bytes) = text.first_chunk() {
        return *bytes;
    }
    // Both halves of the text. Where they overlap they are equal.
    let both = |first: u64, last: u64, half: usize| first | last << (8 * (text.len() - half));
    let word = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            both(u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into(), 4)
        }
        _ => match (text.first_chunk(), text.last_chunk()) {
            (Some(first), Some(last)) => {
                both(u16::from_le_bytes(*first).into(), u16::from_le_bytes(*last).into(), 2)
            }
            _ => text.first().map_or(0, |&byte| byte.into()),
        },
    };
    word.to_le_bytes()
}

/// The digits at the beginning of eight bytes, as a number, and their count.
///
/// The bytes are shifted so that the last digit is last and zeros are first. Then adjacent digits,
/// pairs and fours are added. (Lemire and others: "Quickly parsing eight digits", 2018.)
#[inline]
fn eight_digits(bytes: [u8; 8]) -> (u64, usize) {
    let digits = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    // A digit is below 10: adding 6 doesn't reach the upper half of its byte, which is zero. A
    // carry out of another byte disturbs only bytes after it.
    let others = (digits.wrapping_add(0x0606_0606_0606_0606) | digits) & 0xF0F0_F0F0_F0F0_F0F0;
    let count = others.trailing_zeros() as usize / 8;
    let digits = digits.checked_shl(64 - 8 * count as u32).unwrap_or(0);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF, count)
}
