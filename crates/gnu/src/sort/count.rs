//! Whole numbers in arguments, and sizes of memory.

use crate::getopt::{Refusal, bad_argument, joined};

/// A whole number at the beginning of a text.
pub(super) struct Count<'a> {
    /// The number; `u64::MAX` if it is too large.
    pub(super) value: u64,
    pub(super) is_too_large: bool,
    /// The text after the digits.
    pub(super) rest: &'a [u8],
}

/// Parses the number at the beginning of `text`: white space, an optional plus sign, digits. `None`
/// if there are no digits.
pub(super) fn count(text: &[u8]) -> Option<Count<'_>> {
    let text = &text[text.iter().take_while(|byte| matches!(byte, b' ' | 9..=13)).count()..];
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (digits, rest) =
        text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count());
    if digits.is_empty() {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    let value = digits.iter().try_fold(0, add);
    Some(Count { value: value.unwrap_or(u64::MAX), is_too_large: value.is_none(), rest })
}

/// Parses all of `text` as a number, saturating. `option` is named in the refusal.
pub(super) fn whole_count(text: &[u8], option: &str) -> Result<u64, Refusal> {
    let count = count(text).ok_or_else(|| bad_argument("invalid ", option, text))?;
    if count.rest.is_empty() {
        Ok(count.value)
    } else {
        Err(bad_argument("invalid suffix in ", option, text))
    }
}

/// Parses a size of memory in bytes: a number of KiB, or one with a suffix. `%` is relative to
/// `memory_bytes`.
pub(super) fn size(text: &[u8], option: &str, memory_bytes: u64) -> Result<u64, Refusal> {
    let too_large =
        || Refusal::new(joined(&[option.as_bytes(), b" argument '", text, b"' too large"]));
    let count = match count(text) {
        Some(count) => count,
        // A suffix without a number is one unit.
        None if text.first().is_some_and(|&suffix| exponent(suffix).is_some()) => {
            Count { value: 1, is_too_large: false, rest: text }
        }
        None => return Err(bad_argument("invalid ", option, text)),
    };
    let exponent = match count.rest {
        [] => 1,
        b"b" if !count.is_too_large => 0,
        b"%" if !count.is_too_large => {
            return percent(count.value, memory_bytes).ok_or_else(too_large);
        }
        &[suffix] => {
            exponent(suffix).ok_or_else(|| bad_argument("invalid suffix in ", option, text))?
        }
        _ => return Err(bad_argument("invalid suffix in ", option, text)),
    };
    let value = (0..exponent).try_fold(count.value, |value, _| value.checked_mul(1024));
    value.filter(|_| !count.is_too_large).ok_or_else(too_large)
}

/// The power of 1024 of a suffix. Lower case is accepted where GNU sort accepts it.
fn exponent(suffix: u8) -> Option<u32> {
    let of = |letters: &[u8]| letters.contains(&suffix);
    [&b"kK"[..], b"mM", b"gG", b"tT", b"P", b"E", b"Z", b"Y"]
        .iter()
        .position(|letters| of(letters))
        .map(|at| at as u32 + 1)
}

fn percent(percent: u64, memory_bytes: u64) -> Option<u64> {
    u64::try_from(u128::from(percent) * u128::from(memory_bytes) / 100).ok()
}
