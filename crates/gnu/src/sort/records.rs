//! Records of several lines: which lines belong together, and the part of a record that a key is
//! in.

use super::expression::Expression;
use crate::getopt::{Quoting, Refusal};

/// Which lines make a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// `--record-lines N`: N lines, at least 1.
    Lines(u64),
    /// `--record-begins TEXT`: a line that begins with this text, and the lines after it.
    BeginText(Vec<u8>),
    /// `--record-begins /REGEX/`: a line in which this matches, and the lines after it.
    BeginMatch(Expression),
    /// `--record-ends-blank`: lines up to a blank one, and the blank ones after it.
    EndBlank,
}

/// The part of a record in which a key counts fields, or is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordPart {
    /// A line, after this number of lines.
    Line(usize),
    /// All of it after this number of lines.
    From(usize),
    /// All of it.
    Whole,
    /// What an expression finds.
    Match(Expression),
}

impl Default for RecordPart {
    /// The first line.
    fn default() -> RecordPart {
        RecordPart::Line(0)
    }
}

impl Records {
    /// Parses the argument of `--record-begins`.
    pub(super) fn begins(argument: &[u8], quoting: Quoting<'_>) -> Result<Records, Refusal> {
        match argument {
            [] | [b'/', b'/'] => Err(Refusal::new(
                "--record-begins needs a text with which records begin, or a /REGEX/",
            )),
            [b'/', pattern @ .., b'/'] => {
                Expression::new(pattern, quoting).map(Records::BeginMatch)
            }
            text if text.contains(&b'\n') => {
                Err(Refusal::new("the TEXT of --record-begins is text within a line"))
            }
            text => Ok(Records::BeginText(text.to_vec())),
        }
    }

    /// Parses the argument of `--record-lines`.
    pub(super) fn lines(lines: u64) -> Result<Records, Refusal> {
        match lines {
            0 => Err(Refusal::new("number of lines of a record must be nonzero")),
            lines => Ok(Records::Lines(lines)),
        }
    }

    /// Sets the rule of a command, which has at most one.
    pub(super) fn set(self, rule: &mut Option<Records>) -> Result<(), Refusal> {
        match rule.replace(self) {
            Some(other) if Some(&other) != rule.as_ref() => Err(Refusal::new(
                "one of --record-lines, --record-begins and --record-ends-blank, once, says what a \
                 record is",
            )),
            _ => Ok(()),
        }
    }

    /// True if a line, without its end, begins a record by what is in it.
    pub fn begin_with(&self, line: &[u8]) -> bool {
        match self {
            Records::Lines(_) | Records::EndBlank => false,
            Records::BeginText(text) => line.starts_with(text),
            Records::BeginMatch(expression) => expression.is_match(line),
        }
    }
}
