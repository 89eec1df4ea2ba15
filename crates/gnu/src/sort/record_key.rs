//! Parses the keys of records of several lines.
//!
//! ```text
//!  -k L2.1,1n        line 2, field 1        -k length       the record's length
//!  -k L2             line 2                 -k length(L2)   the length of line 2
//!  -k L2-            line 2 and all after it
//!  -k 1,1            line 1, field 1        -k /id=(\d+)/n  the first group of the first match
//! ```

use super::command::KeyField;
use super::expression::Expression;
use super::key;
use super::records::{RecordPart, Records};
use crate::getopt::{Quoting, Refusal, joined};

/// True if the argument of `-k` has one of the forms for records.
pub(super) fn is_record_key(text: &[u8]) -> bool {
    matches!(text, [b'/' | b'L', ..]) || text.starts_with(LENGTH)
}

/// The word of a key that is a length.
const LENGTH: &[u8] = b"length";

/// Parses an argument of `-k` that [`is_record_key`].
pub(super) fn record_key(text: &[u8], quoting: Quoting<'_>) -> Result<KeyField, Refusal> {
    let refusal = |problem: &str| key::bad_field(problem, text, quoting);
    let mut field = KeyField::default();
    let rest = if let Some(rest) = text.strip_prefix(b"/") {
        let end = memchr::memrchr(b'/', rest).filter(|&end| end > 0);
        let end = end.ok_or_else(|| refusal("a regular expression is between two slashes"))?;
        field.part = RecordPart::Match(Expression::new(&rest[..end], quoting)?);
        &rest[end + 1..]
    } else if let Some(rest) = text.strip_prefix(LENGTH) {
        (field.part, field.is_length) = (RecordPart::Whole, true);
        match rest.strip_prefix(b"(L") {
            None => rest,
            Some(rest) => {
                let (part, rest) = lines(rest, &refusal, quoting)?;
                field.part = part;
                rest.strip_prefix(b")").ok_or_else(|| refusal("a length is written length(L2)"))?
            }
        }
    } else {
        let (part, rest) = lines(&text[1..], &refusal, quoting)?;
        if let (RecordPart::Line(_), Some(rest)) = (&part, rest.strip_prefix(b".")) {
            let field = key::fields(rest, quoting).map_err(|refused| {
                refused.with_hint("a key of line 2 is L2, or L2.1,1 as -k 1,1 there".to_owned())
            })?;
            return Ok(KeyField { part, ..field });
        }
        field.part = part;
        rest
    };
    let rest = key::flags(rest, &mut field.flags, true);
    let is_joined = field.is_length || matches!(field.part, RecordPart::From(_));
    match (rest, is_joined && !field.flags.is_plain()) {
        ([], false) => Ok(field),
        ([], true) => Err(refusal("a length, or lines that are joined, take only the letter r")),
        _ => Err(refusal("stray character in field spec")),
    }
}

/// Parses the number of a line, and a hyphen if all lines after it are meant, too. Also returns the
/// rest.
fn lines<'a>(
    text: &'a [u8],
    refusal: &impl Fn(&str) -> Refusal,
    quoting: Quoting<'_>,
) -> Result<(RecordPart, &'a [u8]), Refusal> {
    let (line, rest) = key::number(text, "invalid number of a line", quoting)?;
    let line = line.checked_sub(1).ok_or_else(|| refusal("line number is zero"))?;
    Ok(match rest.strip_prefix(b"-") {
        Some(rest) => (RecordPart::From(line), rest),
        None => (RecordPart::Line(line), rest),
    })
}

/// Refuses options that a sort of records can't honour, and keys of records without a rule.
pub(super) fn refuse_with_records(
    records: Option<&Records>,
    keys: &[KeyField],
    given: &[(&str, bool)],
) -> Result<(), Refusal> {
    let is_of_record = |key: &KeyField| {
        let is_of_line = matches!(key.part, RecordPart::Line(0) | RecordPart::Whole);
        key.is_length || !is_of_line
    };
    if records.is_none() {
        return match keys.iter().any(is_of_record) {
            true => Err(Refusal::new(joined(&[b"a key of a record needs ", NEEDED]))),
            false => Ok(()),
        };
    }
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Refusal::new(format!(
            "records of several lines don't go with {option}: leave it out"
        ))),
        None => Ok(()),
    }
}

/// The options that make records.
pub(super) const NEEDED: &[u8] = b"--record-lines, --record-begins or --record-ends-blank";
