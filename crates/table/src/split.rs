//! Splits a text into rows and fields: RFC 4180, with rules for common deviations.
//!
//! - A field is quoted if its first byte is the quote. A quote in the middle of a field is a byte
//!   like any other. In a quoted field a quote is doubled, or follows the escape if there is one.
//! - Blanks may be between the closing quote and the next delimiter or line end; they belong to the
//!   field. Anything else there is an error, because the end of such a field is ambiguous.
//! - A field with blanks before the quote isn't quoted. It is an error if it has an odd number of
//!   quotes: then the quoted part continues after the delimiter or the line end.
//! - A row ends with LF or CR LF outside quotes. A row may have any number of fields.
//! - Outside quotes CR comes only before a line end. CR with anything else after it is an error:
//!   either it is data that needs quotes, or lines end in CR alone.

use crate::bad_row::BadRow;
use memchr::{memchr, memchr_iter, memchr2, memchr3};
use std::borrow::Cow;
use std::ops::Range;

/// The bytes that separate fields and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The byte between two fields.
    pub delimiter: u8,
    /// The byte around fields that contain delimiters or line ends.
    pub quote: Option<u8>,
    /// The byte before a quote that belongs to a quoted field.
    pub escape: Option<u8>,
    /// The byte that begins lines that are no rows.
    pub comment: Option<u8>,
}

impl Dialect {
    /// Comma-separated values.
    pub const CSV: Dialect =
        Dialect { delimiter: b',', quote: Some(b'"'), escape: None, comment: None };
    /// Tab-separated values. Quotes are bytes like any other.
    pub const TSV: Dialect = Dialect { delimiter: b'\t', quote: None, escape: None, comment: None };
}

/// The result of parsing the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// A whole row of this length in bytes, its line end included.
    Whole(usize),
    /// A row whose end is missing.
    Part,
    /// The quote at this byte is never closed.
    OpenQuote(usize),
    /// The quoted field at `open` is closed before the byte at `at`, which may not follow.
    AfterQuote { open: usize, at: usize },
    /// Blanks come before the quote at this byte, and the field ends within quotes.
    BlankBeforeQuote(usize),
    /// The CR at this byte is outside quotes and not before a line end.
    BareCr(usize),
}

impl Row {
    /// The error of this result, for the row of this number that begins at byte `offset`. `None` if
    /// nothing is wrong.
    pub(crate) fn error(self, row: u64, offset: u64) -> Option<BadRow> {
        match self {
            Row::Whole(_) | Row::Part => None,
            Row::OpenQuote(at) => Some(BadRow::OpenQuote { row, offset: offset + at as u64 }),
            Row::AfterQuote { open, at } => {
                let (open, offset) = (offset + open as u64, offset + at as u64);
                Some(BadRow::AfterQuote { row, open, offset })
            }
            Row::BlankBeforeQuote(at) => {
                Some(BadRow::BlankBeforeQuote { row, offset: offset + at as u64 })
            }
            Row::BareCr(at) => Some(BadRow::BareCr { row, offset: offset + at as u64 }),
        }
    }
}

/// Takes the fields of a row.
pub(crate) trait Fields {
    /// Drops the fields taken so far.
    fn clear(&mut self);
    /// Number of fields taken.
    fn count(&self) -> usize;
    /// Takes the next field.
    fn take(&mut self, field: Range<usize>);
}

impl Fields for Vec<Range<usize>> {
    fn clear(&mut self) {
        self.clear();
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn take(&mut self, field: Range<usize>) {
        self.push(field);
    }
}

impl Dialect {
    /// True if a row is a comment.
    #[inline]
    pub(crate) fn is_comment(&self, row: &[u8]) -> bool {
        self.comment.is_some() && row.first().copied() == self.comment
    }

    /// Finds the end of a comment, which is a line of one field.
    fn comment(text: &[u8], is_last: bool, fields_max: usize, fields: &mut impl Fields) -> Row {
        let end = match unquoted_end(memchr2(b'\n', b'\r', text), text, is_last) {
            Err(row) => return row,
            Ok(None) if !is_last => return Row::Part,
            Ok(line_end) => line_end.unwrap_or(text.len()),
        };
        if fields_max > 0 {
            fields.take(0..without_cr(text, 0, end));
        }
        Row::Whole(text.len().min(end + 1))
    }

    /// Finds the end of the row that `text` begins with, and its first `fields_max` fields, without
    /// unquoting them. `is_last` is true if nothing follows `text`, which isn't empty.
    pub(crate) fn row(
        &self,
        text: &[u8],
        is_last: bool,
        fields_max: usize,
        fields: &mut impl Fields,
    ) -> Row {
        fields.clear();
        if self.is_comment(text) {
            return Dialect::comment(text, is_last, fields_max, fields);
        }
        let mut begin = 0;
        loop {
            let mut at = begin;
            let is_quoted = self.quote.is_some() && text.get(at).copied() == self.quote;
            if is_quoted {
                match self.closing_quote(text, at, is_last) {
                    Ok(behind) => at = self.blanks_end(text, behind),
                    Err(row) => return row,
                }
            }
            let found = match is_quoted {
                true => self.quoted_end(text, (begin, at), is_last),
                false => {
                    let found = memchr3(self.delimiter, b'\n', b'\r', &text[at..]);
                    unquoted_end(found.map(|found| at + found), text, is_last)
                }
            };
            let found = match found {
                Ok(found) => found,
                Err(row) => return row,
            };
            let field_end = match found {
                None if !is_last => return Row::Part,
                None => text.len(),
                Some(found) => found,
            };
            if !is_quoted && let Some(quote) = self.quote_behind_blanks(&text[begin..field_end]) {
                return Row::BlankBeforeQuote(begin + quote);
            }
            let is_row_end = found.is_none_or(|found| text[found] == b'\n');
            if fields.count() < fields_max {
                let end = if is_row_end { without_cr(text, begin, field_end) } else { field_end };
                fields.take(begin..end);
            }
            if is_row_end {
                return Row::Whole(text.len().min(field_end + 1));
            }
            begin = field_end + 1;
        }
    }

    /// Checks the byte at `at`, after a closing quote and blanks. Returns the position of the
    /// delimiter or line end, or `None` at the end of the text. The field begins at `open`.
    fn quoted_end(
        &self,
        text: &[u8],
        (open, at): (usize, usize),
        is_last: bool,
    ) -> Result<Option<usize>, Row> {
        match text.get(at) {
            None if is_last => Ok(None),
            None => Err(Row::Part),
            Some(&byte) if byte == self.delimiter || byte == b'\n' => Ok(Some(at)),
            Some(b'\r') => unquoted_end(Some(at), text, is_last),
            Some(_) => Err(Row::AfterQuote { open, at }),
        }
    }

    /// True for a blank between a field's quotes and its delimiter.
    fn is_blank(&self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\t') && byte != self.delimiter && Some(byte) != self.quote
    }

    /// The first byte from `at` on that isn't a blank.
    fn blanks_end(&self, text: &[u8], at: usize) -> usize {
        let blanks = text[at..].iter().take_while(|byte| self.is_blank(**byte)).count();
        at + blanks
    }

    /// The position of a quote after leading blanks, in a field that ends within quotes by mistake.
    fn quote_behind_blanks(&self, field: &[u8]) -> Option<usize> {
        let quote = self.quote?;
        let at = self.blanks_end(field, 0);
        let is_behind_blanks = at > 0 && field.get(at) == Some(&quote);
        (is_behind_blanks && memchr_iter(quote, &field[at..]).count() % 2 == 1).then_some(at)
    }

    /// The position after the closing quote of a field whose opening quote is at `open`.
    fn closing_quote(&self, text: &[u8], open: usize, is_last: bool) -> Result<usize, Row> {
        let quote = self.quote.unwrap_or_default();
        let missing = if is_last { Row::OpenQuote(open) } else { Row::Part };
        let mut at = open + 1;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let found = match self.escape {
                Some(escape) => memchr2(quote, escape, rest),
                None => memchr(quote, rest),
            };
            at += found.ok_or(missing)?;
            match text.get(at + 1) {
                _ if Some(text[at]) == self.escape && text[at] != quote => at += 2,
                Some(&next) if next == quote => at += 2,
                None if !is_last => return Err(Row::Part),
                _ => return Ok(at + 1),
            }
        }
    }

    /// A field's value, without its quotes.
    pub(crate) fn value<'t>(&self, field: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(quote) = self.quote.filter(|quote| field.first() == Some(quote)) else {
            return Cow::Borrowed(field);
        };
        let inner = &field[1..];
        if let Some(end) = memchr(quote, inner)
            && end + 1 == inner.len()
            && self.escape.is_none_or(|escape| memchr(escape, inner).is_none())
        {
            return Cow::Borrowed(&inner[..end]);
        }
        let mut value = Vec::with_capacity(inner.len());
        let (mut bytes, mut is_open) = (inner.iter().copied().peekable(), true);
        while let Some(byte) = bytes.next() {
            if is_open && Some(byte) == self.escape && byte != quote {
                value.extend(bytes.next());
            } else if is_open && byte == quote {
                match bytes.next_if_eq(&quote) {
                    Some(quote) => value.push(quote),
                    None => is_open = false,
                }
            } else {
                value.push(byte);
            }
        }
        Cow::Owned(value)
    }
}

/// Returns the end of an unquoted field. `found` is a delimiter, a line end, or the first CR
/// outside quotes. After CR it is the LF that follows; `None` at the end of the text. CR CR LF,
/// which some programs write by mistake, also ends a row.
///
/// # Errors
///
/// [`Row::BareCr`] if anything else follows CR; [`Row::Part`] if more of the text is needed.
fn unquoted_end(found: Option<usize>, text: &[u8], is_last: bool) -> Result<Option<usize>, Row> {
    let Some(at) = found.filter(|&at| text[at] == b'\r') else { return Ok(found) };
    let behind = at + text[at..].iter().take_while(|byte| **byte == b'\r').count();
    match text.get(behind) {
        Some(b'\n') => Ok(Some(behind)),
        Some(_) => Err(Row::BareCr(at)),
        None if is_last => Ok(None),
        None => Err(Row::Part),
    }
}

/// The end of a field before a line end, without its CR.
fn without_cr(text: &[u8], begin: usize, end: usize) -> usize {
    end - usize::from(end > begin && text[end - 1] == b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Fields = Vec<Vec<u8>>;

    /// The position of a byte in a field.
    #[derive(Clone, Copy, PartialEq)]
    enum Place {
        Begin,
        /// After blanks, in a field that begins with them.
        Blanks,
        Plain,
        /// In quotes that this byte opened.
        Quoted(usize),
        /// After the quotes that this byte opened.
        Closed(usize),
    }

    /// A state machine over bytes: the fields of each row with its bytes, and the reason why there
    /// are no more, except the end of the text.
    fn model(dialect: Dialect, text: &[u8]) -> (Vec<(Fields, usize)>, Option<Row>) {
        let (mut rows, mut fields, mut field) = (Vec::new(), Vec::new(), Vec::new());
        let (mut place, mut at, mut row_begin) = (Place::Begin, 0, 0);
        // In a field that begins with blanks and a quote: that quote, and the number of quotes.
        let (mut blank_quote, mut quotes) = (0, 0);
        loop {
            let byte = text.get(at).copied();
            let is_quote = byte.is_some() && byte == dialect.quote;
            let is_end = byte.is_none_or(|byte| byte == dialect.delimiter || byte == b'\n');
            let behind_crs = text.get(at..).unwrap_or_default().iter().find(|byte| **byte != b'\r');
            let is_bare_cr = byte == Some(b'\r') && behind_crs.is_some_and(|byte| *byte != b'\n');
            if is_bare_cr && !matches!(place, Place::Quoted(_)) {
                return (rows, Some(Row::BareCr(at)));
            }
            if is_end && quotes % 2 == 1 {
                return (rows, Some(Row::BlankBeforeQuote(blank_quote)));
            }
            match (place, byte) {
                (Place::Quoted(open), None) => return (rows, Some(Row::OpenQuote(open))),
                (_, None) if row_begin == at => return (rows, None),
                (Place::Quoted(_), Some(byte))
                    if Some(byte) == dialect.escape && Some(byte) != dialect.quote =>
                {
                    field.extend(text.get(at + 1));
                    at += 1;
                }
                (Place::Quoted(_), Some(byte)) if is_quote && text.get(at + 1) == Some(&byte) => {
                    field.push(byte);
                    at += 1;
                }
                (Place::Quoted(open), Some(_)) if is_quote => place = Place::Closed(open),
                (Place::Quoted(_), Some(byte)) => field.push(byte),
                (_, byte) if is_end => {
                    fields.push(std::mem::take(&mut field));
                    (place, quotes) = (Place::Begin, 0);
                    if byte != Some(dialect.delimiter) {
                        let end = text.len().min(at + 1);
                        rows.push((std::mem::take(&mut fields), end - row_begin));
                        row_begin = end;
                    }
                    if byte.is_none() {
                        return (rows, None);
                    }
                }
                (Place::Begin, Some(_)) if is_quote => place = Place::Quoted(at),
                (Place::Closed(open), Some(byte)) => {
                    if byte != b' ' && byte != b'\r' {
                        return (rows, Some(Row::AfterQuote { open, at }));
                    }
                    field.push(byte);
                }
                (_, None) => unreachable!("it is an end"),
                (_, Some(byte)) => {
                    if place == Place::Blanks && is_quote {
                        blank_quote = at;
                        quotes = 1;
                    } else if quotes > 0 && is_quote {
                        quotes += 1;
                    }
                    let may_begin = matches!(place, Place::Begin | Place::Blanks);
                    place = match byte == b' ' && may_begin {
                        true => Place::Blanks,
                        false => Place::Plain,
                    };
                    field.push(byte);
                }
            }
            at += 1;
        }
    }

    /// The row of a text that begins `bytes` bytes later.
    fn behind(row: Row, bytes: usize) -> Row {
        match row {
            Row::OpenQuote(at) => Row::OpenQuote(at - bytes),
            Row::AfterQuote { open, at } => Row::AfterQuote { open: open - bytes, at: at - bytes },
            Row::BlankBeforeQuote(at) => Row::BlankBeforeQuote(at - bytes),
            Row::BareCr(at) => Row::BareCr(at - bytes),
            other => other,
        }
    }

    fn check(dialect: Dialect, text: &[u8]) {
        let (expected, bad) = model(dialect, text);
        let (mut at, mut fields) = (0, Vec::new());
        for (values, bytes) in expected {
            for fields_max in 0..4 {
                assert_eq!(
                    dialect.row(&text[at..], true, fields_max, &mut fields),
                    Row::Whole(bytes)
                );
                assert_eq!(fields.len(), values.len().min(fields_max));
                for (field, value) in fields.iter().zip(&values) {
                    let mut value = &value[..];
                    let is_last = field.end + at + 2 == at + bytes && text[at + field.end] == b'\r';
                    let is_end = text.get(at + field.end) == Some(&b'\r');
                    let is_end = is_end && at + field.end + 1 == text.len();
                    if is_last || is_end {
                        value = value.strip_suffix(b"\r").unwrap_or(value);
                    }
                    assert_eq!(*dialect.value(&text[at..][field.clone()]), *value, "{text:?}");
                }
                // Any part of a row is a part of it, or one whose end may be an end.
                for part in 1..bytes {
                    let row = dialect.row(&text[at..at + part], false, fields_max, &mut fields);
                    assert_eq!(row, Row::Part, "{part} bytes of {:?}", &text[at..at + bytes]);
                }
            }
            at += bytes;
        }
        if let Some(bad) = bad {
            let found = dialect.row(&text[at..], true, 9, &mut fields);
            assert_eq!(found, behind(bad, at), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn rows_are_those_of_a_state_machine(
            text in proptest::collection::vec(prop::sample::select(b"\",\na\\ \r".to_vec()), 0..24)
        ) {
            check(Dialect::CSV, &text);
            check(Dialect { escape: Some(b'\\'), ..Dialect::CSV }, &text);
            check(Dialect { quote: None, ..Dialect::CSV }, &text);
        }
    }

    /// Such rows came out torn, or with their fields in other columns.
    #[test]
    fn what_follows_a_closing_quote_is_its_end() {
        let mut fields = Vec::new();
        let mut of = |text: &[u8]| Dialect::CSV.row(text, true, 9, &mut fields);
        assert_eq!(of(b"2,\"A \"B\"\nC\"\n"), Row::AfterQuote { open: 2, at: 6 });
        assert_eq!(of(b"1, \"a\nb\"\n"), Row::BlankBeforeQuote(3));
        assert_eq!(of(b"1, \"a,b\"\n"), Row::BlankBeforeQuote(3));
        assert_eq!(of(b"\"a\" ,\"b\"\t\r\n"), Row::Whole(11));
        assert_eq!(of(b"5\" pipe, \"x\",\"\"\n"), Row::Whole(16));
    }

    /// Rows whose lines end in CR alone were once one row.
    #[test]
    fn a_cr_outside_quotes_is_before_a_line_end_or_an_error() {
        let mut fields = Vec::new();
        let dialect = Dialect { comment: Some(b'#'), ..Dialect::CSV };
        let mut of = |text: &str| dialect.row(text.as_bytes(), true, 9, &mut fields);
        for (text, at) in [
            ("2,x\r1,y\r", 3),
            ("2,x\r1,y\r\n", 3),
            ("2,x\r1,y\n", 3),
            ("2\r,x\n", 1),
            ("\r\rx\n", 0),
            ("\"2\"\r\"1\"\r", 3),
            ("\"2\" \r\r1\n", 4),
            ("#2\r1\r", 2),
        ] {
            assert_eq!(of(text), Row::BareCr(at), "{text:?}");
        }
        for text in ["2,x\r", "2,\"x\ry\"\r\n", "2,x\r\r\n", "\"2\"\r\r\n", "\r\n", "#\r\n", "#\r"]
        {
            assert_eq!(of(text), Row::Whole(text.len()), "{text:?}");
        }
    }

    #[test]
    fn line_ends_of_both_kinds_end_rows() {
        let mut fields = Vec::new();
        let text = b"a,\"b\r\n\"\r\nc";
        assert_eq!(Dialect::CSV.row(text, true, 9, &mut fields), Row::Whole(9));
        assert_eq!(fields, [0..1, 2..7]);
        assert_eq!(*Dialect::CSV.value(&text[2..7]), *b"b\r\n");
        assert_eq!(Dialect::CSV.row(&text[9..], false, 9, &mut fields), Row::Part);
    }
}
