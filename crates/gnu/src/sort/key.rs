//! Parses keys on the command line: `-k F[.C][OPTS][,F[.C][OPTS]]`, and the obsolete `+F[.C][OPTS]
//! [-F[.C][OPTS]]`.
//!
//! The first form counts fields and characters from 1 and names the last field of the key. The
//! second counts from 0 and names the first field after the key.

use super::command::{Flags, KeyEnd, KeyField, KeyList};
use super::count::count;
use crate::getopt::{Quoting, Refusal, joined};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// A field number that overflows, which only the obsolete form can have. GNU sort treats it as the
/// line's beginning or end.
const NOWHERE: usize = usize::MAX;

/// Parses the fields and options of a key.
pub(super) fn fields(text: &[u8], quoting: Quoting<'_>) -> Result<KeyField, Refusal> {
    let spec_error = |problem: &str| bad_field(problem, text, quoting);
    let mut key = KeyField::default();
    let (field, mut rest) = number(text, "invalid number at field start", quoting)?;
    key.start_field = field.checked_sub(1).ok_or_else(|| spec_error("field number is zero"))?;
    if let Some(after) = rest.strip_prefix(b".") {
        let (char, after) = number(after, "invalid number after '.'", quoting)?;
        key.start_char =
            char.checked_sub(1).ok_or_else(|| spec_error("character offset is zero"))?;
        rest = after;
    }
    rest = flags(rest, &mut key.flags, true);
    if let Some(after) = rest.strip_prefix(b",") {
        let (field, after) = number(after, "invalid number after ','", quoting)?;
        let field = field.checked_sub(1).ok_or_else(|| spec_error("field number is zero"))?;
        let (char, after) = end_char(after, quoting)?;
        key.end = Some(KeyEnd { field, char });
        rest = flags(after, &mut key.flags, false);
    }
    if rest.is_empty() { Ok(key) } else { Err(spec_error("stray character in field spec")) }
}

/// Parses the argument of `--order`, `KEY=FILE`.
pub(super) fn listed(text: &[u8], quoting: Quoting<'_>) -> Result<KeyField, Refusal> {
    let Some(end) = memchr::memchr(b'=', text).filter(|&end| end + 1 < text.len()) else {
        return Err(bad_field("--order takes KEY=FILE, such as 1,1=genome.fai", text, quoting));
    };
    let list = KeyList { file: OsString::from_vec(text[end + 1..].to_vec()), names: None };
    let field = fields(&text[..end], quoting)?;
    match field.flags.is_plain() || (field.flags.reverse && field.flags.letters() == "r") {
        true => Ok(KeyField { list: Some(list), ..field }),
        false => {
            Err(bad_field("names in the order of a list take only the letter r", text, quoting))
        }
    }
}

/// Parses `+POS1`. `None` if the word isn't one and names a file.
pub(super) fn obsolete_start(text: &[u8]) -> Option<KeyField> {
    let start = count(text.strip_prefix(b"+")?)?;
    let mut key =
        KeyField { start_field: start.value as usize, is_obsolete: true, ..KeyField::default() };
    let mut rest = start.rest;
    if let Some(after) = rest.strip_prefix(b".") {
        let char = count(after)?;
        key.start_char = char.value as usize;
        rest = char.rest;
    }
    if key.start_field == NOWHERE {
        (key.start_field, key.start_char) = (0, 0);
    }
    flags(rest, &mut key.flags, true).is_empty().then_some(key)
}

/// Parses `-POS2`, which ends the obsolete key `key`.
pub(super) fn obsolete_end(
    text: &[u8],
    key: &mut KeyField,
    quoting: Quoting<'_>,
) -> Result<(), Refusal> {
    let (field, after) = number(&text[1..], "invalid number after '-'", quoting)?;
    let (char, after) = end_char(after, quoting)?;
    // `-F` ends before field F (from 0), `-F.C` in it.
    key.end = match (field, char) {
        (1.., 0) => Some(KeyEnd { field: field - 1, char }),
        (NOWHERE, _) => None,
        _ => Some(KeyEnd { field, char }),
    };
    let rest = flags(after, &mut key.flags, false);
    if rest.is_empty() {
        Ok(())
    } else {
        Err(bad_field("stray character in field spec", text, quoting))
    }
}

/// Parses the `.C` of an end; 0 if there is none.
fn end_char<'a>(text: &'a [u8], quoting: Quoting<'_>) -> Result<(usize, &'a [u8]), Refusal> {
    match text.strip_prefix(b".") {
        Some(after) => number(after, "invalid number after '.'", quoting),
        None => Ok((0, text)),
    }
}

/// Takes ordering options from the beginning of `text`. Returns the rest.
pub(super) fn flags<'a>(text: &'a [u8], flags: &mut Flags, is_start: bool) -> &'a [u8] {
    &text[text.iter().take_while(|&&letter| flags.set(letter, is_start, !is_start)).count()..]
}

/// Parses a number of fields or characters. It saturates if it is too large. Also returns the rest.
pub(super) fn number<'a>(
    text: &'a [u8],
    problem: &str,
    quoting: Quoting<'_>,
) -> Result<(usize, &'a [u8]), Refusal> {
    let invalid = || {
        Refusal::new(joined(&[
            problem.as_bytes(),
            b": invalid count at start of ",
            &quoting.quote(text),
        ]))
    };
    count(text).map(|count| (count.value as usize, count.rest)).ok_or_else(invalid)
}

pub(super) fn bad_field(problem: &str, text: &[u8], quoting: Quoting<'_>) -> Refusal {
    Refusal::new(joined(&[
        problem.as_bytes(),
        b": invalid field specification ",
        &quoting.quote(text),
    ]))
}
