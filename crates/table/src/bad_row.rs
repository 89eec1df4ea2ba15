//! Errors of inputs that aren't tables, or have a value that isn't of its column's type.

use crate::advice::meant_type;
use crate::json::{InvalidJson, TOO_DEEP};
use std::io;
use thiserror::Error;
use xsort_extsort::keyed::MoreMemory;

/// Most bytes of a value that an error shows.
const SHOWN_BYTES: usize = 60;
/// Longest header in bytes. Each of its names takes memory.
pub(crate) const HEADER_BYTES_MAX: usize = 16 << 20;

/// A row that can't be sorted. The error that contains this one names the file.
#[derive(Debug, Error)]
pub(crate) enum BadRow {
    #[error(
        "row {row}: the quote at byte {offset} is never closed: is --quote right, or is the file \
         incomplete?"
    )]
    OpenQuote { row: u64, offset: u64 },
    #[error(
        "row {row}: the quoted field from byte {open} on is closed before byte {offset}, where \
         neither a delimiter nor a line end comes: a quote in a quoted field is doubled, or comes \
         behind --escape (--quote '' takes quotes as other bytes)"
    )]
    AfterQuote { row: u64, open: u64, offset: u64 },
    #[error(
        "row {row}: blanks come before the quote at byte {offset}, whose field ends within quotes: \
         remove the blanks (--quote '' takes quotes as other bytes)"
    )]
    BlankBeforeQuote { row: u64, offset: u64 },
    #[error(
        "row {row}: the CR at byte {offset} is outside quotes, and no LF follows it: change lines \
         that end in CR alone (tr '\\r' '\\n' <FILE), and quote fields that contain CR"
    )]
    BareCr { row: u64, offset: u64 },
    #[error("it is text in {name}: convert it before (iconv -f {name} -t UTF-8 FILE)")]
    Encoding { name: &'static str },
    #[error("there is no column #{number} in its first row, which has {fields}")]
    NoColumn { number: usize, fields: usize },
    #[error("no input has a column #{number} in its first row; the longest has {fields}")]
    NoColumnAnywhere { number: usize, fields: usize },
    #[error(
        "row {row}, from byte {offset} on, is longer than {bytes_max} bytes, and before the first \
         row no other may be: is a quote open there?{}", more_for_header(*.bytes_max)
    )]
    LongHeader { row: u64, offset: u64, bytes_max: usize },
    #[error(
        "the lines above its rows, by --header-prefix, have more than {bytes_max} bytes: is the \
         prefix right?"
    )]
    LongTop { bytes_max: usize },
    #[error(
        "row {row}, from byte {offset} on, has {bytes} bytes, and rows may have {bytes_max} in \
         this memory: if no quote is open there, {more}"
    )]
    TooLong { row: u64, offset: u64, bytes: u64, bytes_max: usize, more: MoreMemory },
    #[error(
        "row {row}, from byte {offset} on, has more than {bytes} bytes, and rows may have \
         {bytes_max} in this memory: is a quote open there?"
    )]
    Endless { row: u64, offset: u64, bytes: u64, bytes_max: usize },
    #[error(
        "row {row}, from byte {offset} on, takes {bytes} bytes with its key on its way, and there \
         is room for {bytes_max}: sort by less of it (--by), or give more memory: {more}"
    )]
    LongKey { row: u64, offset: u64, bytes: usize, bytes_max: usize, more: MoreMemory },
    #[error(
        "row {row}, byte {offset}, column {column}: '{}' is no {kind} (--on-bad=last puts such \
         rows to the end){}", shown(.value), meant_type(.value, .kind)
    )]
    Value { row: u64, offset: u64, column: String, value: Vec<u8>, kind: &'static str },
    #[error("row {row}, byte {offset}: column {column} has no value, and ':required' wants one")]
    Missing { row: u64, offset: u64, column: String },
    #[error("row {row}, byte {offset} is no JSON: {what}")]
    Json { row: u64, offset: u64, what: &'static str },
    #[error(
        "row {row}, byte {offset}: arrays and objects are nested deeper than 512 there, which is \
         the most: flatten the row, or sort lines ('xsort lines')"
    )]
    DeepJson { row: u64, offset: u64 },
    #[error(
        "row {row}: the value at {column} has {bytes} bytes, and arrays and objects of up to \
         {bytes_max} can be keys: sort by values in it"
    )]
    NestedKey { row: u64, column: String, bytes: usize, bytes_max: usize },
    #[error(
        "row {row}: the value at {column} has {bytes} bytes, and texts of up to {bytes_max} can be \
         in the order of a language: sort by the type str"
    )]
    LongText { row: u64, column: String, bytes: usize, bytes_max: usize },
    #[error(
        "its header has {found} as column {number}, where that of the first file has {expected}: \
         sort them apart, or without headers (--no-header)"
    )]
    Header { number: usize, found: String, expected: String },
}

impl BadRow {
    /// The error of a row that is no JSON. Its offset counts from the beginning of the row.
    pub(crate) fn of_json(invalid: InvalidJson, row: u64) -> BadRow {
        let offset = invalid.offset as u64;
        match invalid.what {
            TOO_DEEP => BadRow::DeepJson { row, offset },
            what => BadRow::Json { row, offset, what },
        }
    }

    /// Adds `bytes` to the error's offsets, for a text that begins `bytes` bytes later.
    pub(crate) fn behind(mut self, bytes: u64) -> BadRow {
        match &mut self {
            BadRow::AfterQuote { open, offset, .. } => {
                *open += bytes;
                *offset += bytes;
            }
            BadRow::OpenQuote { offset, .. }
            | BadRow::BlankBeforeQuote { offset, .. }
            | BadRow::BareCr { offset, .. }
            | BadRow::LongHeader { offset, .. }
            | BadRow::TooLong { offset, .. }
            | BadRow::Endless { offset, .. }
            | BadRow::LongKey { offset, .. }
            | BadRow::Json { offset, .. }
            | BadRow::DeepJson { offset, .. }
            | BadRow::Missing { offset, .. }
            | BadRow::Value { offset, .. } => *offset += bytes,
            BadRow::NestedKey { .. }
            | BadRow::LongText { .. }
            | BadRow::Header { .. }
            | BadRow::Encoding { .. }
            | BadRow::LongTop { .. }
            | BadRow::NoColumn { .. }
            | BadRow::NoColumnAnywhere { .. } => {}
        }
        self
    }
}

impl From<BadRow> for io::Error {
    fn from(bad: BadRow) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, bad)
    }
}

/// The advice for a header that is longer than `bytes_max` bytes.
fn more_for_header(bytes_max: usize) -> &'static str {
    let is_by_memory = bytes_max < HEADER_BYTES_MAX;
    if is_by_memory { " If not, give more memory (-m)" } else { "" }
}

/// The beginning of a value, as much as an error shows.
pub(crate) fn beginning(value: &[u8]) -> Vec<u8> {
    value[..value.len().min(SHOWN_BYTES + 1)].to_vec()
}

/// The beginning of a value, in one line.
#[must_use]
pub fn shown(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(SHOWN_BYTES)]).into_owned();
    let more = if value.len() > SHOWN_BYTES { "..." } else { "" };
    text.replace(char::is_control, "?") + more
}
