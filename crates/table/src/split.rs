//! Rows of a text: RFC 4180, and what the world does to it.
//!
//! - A field is quoted if its first byte is the quote; a quote in the middle of a field is a byte
//!   as any other. In a quoted field the quote is doubled, or comes behind the escape if there is
//!   one.
//! - What comes between the closing quote and the next delimiter belongs to the field.
//! - A row ends with LF or CR LF outside quotes; a row may have any number of fields.

use memchr::{memchr, memchr2};
use std::borrow::Cow;
use std::ops::Range;

/// Where fields and rows end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Between two fields.
    pub delimiter: u8,
    /// Around fields that contain delimiters or line ends.
    pub quote: Option<u8>,
    /// Before a quote that is a byte of a quoted field.
    pub escape: Option<u8>,
    /// Begins lines that are no rows.
    pub comment: Option<u8>,
}

impl Dialect {
    /// Comma-separated values.
    pub const CSV: Dialect =
        Dialect { delimiter: b',', quote: Some(b'"'), escape: None, comment: None };
    /// Tab-separated values, whose quotes are bytes as any other.
    pub const TSV: Dialect = Dialect { delimiter: b'\t', quote: None, escape: None, comment: None };
}

/// The beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// A row of so many bytes, its line end included.
    Whole(usize),
    /// A row whose end isn't there yet.
    Part,
    /// The quote at this byte is never closed.
    OpenQuote(usize),
}

/// Takes the fields of a row.
pub(crate) trait Fields {
    /// Forgets what was taken.
    fn clear(&mut self);
    /// How many were taken.
    fn count(&self) -> usize;
    /// Takes the next one.
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
    /// Whether a row is a comment.
    #[inline]
    pub(crate) fn is_comment(&self, row: &[u8]) -> bool {
        self.comment.is_some() && row.first().copied() == self.comment
    }

    /// The end of a comment, which is a line of one field.
    fn comment(text: &[u8], is_last: bool, fields_max: usize, fields: &mut impl Fields) -> Row {
        let line_end = memchr(b'\n', text);
        if line_end.is_none() && !is_last {
            return Row::Part;
        }
        let end = line_end.unwrap_or(text.len());
        if fields_max > 0 {
            fields.take(0..without_cr(text, 0, end));
        }
        Row::Whole(text.len().min(end + 1))
    }

    /// Finds the end of the row that `text` begins with, and its first `fields_max` fields, without
    /// unquoting them. `is_last`: nothing comes behind `text`, which isn't empty.
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
            if self.quote.is_some() && text.get(at).copied() == self.quote {
                match self.closing_quote(text, at, is_last) {
                    Ok(behind) => at = behind,
                    Err(row) => return row,
                }
            }
            if fields.count() == fields_max {
                match self.skip(text, at) {
                    Skipped::Row(end) => return Row::Whole(end),
                    Skipped::Field(next) => {
                        begin = next;
                        continue;
                    }
                    Skipped::All if is_last => return Row::Whole(text.len()),
                    Skipped::All => return Row::Part,
                }
            }
            match memchr2(self.delimiter, b'\n', &text[at..]) {
                Some(found) if text[at + found] == self.delimiter => {
                    fields.take(begin..at + found);
                    begin = at + found + 1;
                }
                Some(found) => {
                    fields.take(begin..without_cr(text, begin, at + found));
                    return Row::Whole(at + found + 1);
                }
                None if is_last => {
                    fields.take(begin..without_cr(text, begin, text.len()));
                    return Row::Whole(text.len());
                }
                None => return Row::Part,
            }
        }
    }

    /// Where the rest of a field begins whose opening quote is at `open`.
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

    /// Goes on from inside a field to the end of the row, or to the next field that is quoted.
    fn skip(&self, text: &[u8], mut at: usize) -> Skipped {
        let from = at;
        loop {
            let rest = &text[at..];
            let found = match self.quote {
                Some(quote) => memchr2(b'\n', quote, rest),
                None => memchr(b'\n', rest),
            };
            let Some(found) = found else { return Skipped::All };
            at += found;
            if text[at] == b'\n' {
                return Skipped::Row(at + 1);
            }
            if at > from && text[at - 1] == self.delimiter {
                return Skipped::Field(at);
            }
            at += 1;
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

/// Where [`Dialect::skip`] came to.
enum Skipped {
    /// The row ends before this byte.
    Row(usize),
    /// A quoted field begins here.
    Field(usize),
    /// There is nothing more.
    All,
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

    /// A state machine over bytes: the fields of each row with its bytes, and the open quote.
    fn model(dialect: Dialect, text: &[u8]) -> (Vec<(Fields, usize)>, Option<usize>) {
        let (mut rows, mut fields, mut field) = (Vec::new(), Vec::new(), Vec::new());
        let (mut open, mut is_start, mut at, mut row_begin) = (None, true, 0, 0);
        while at < text.len() {
            let byte = text[at];
            if open.is_some() {
                if Some(byte) == dialect.escape && Some(byte) != dialect.quote {
                    field.extend(text.get(at + 1));
                    at += 2;
                    continue;
                }
                if Some(byte) == dialect.quote {
                    if text.get(at + 1) == Some(&byte) {
                        field.push(byte);
                        at += 2;
                        continue;
                    }
                    open = None;
                } else {
                    field.push(byte);
                }
            } else if is_start && Some(byte) == dialect.quote {
                open = Some(at);
                is_start = false;
            } else if byte == dialect.delimiter {
                fields.push(std::mem::take(&mut field));
                is_start = true;
            } else if byte == b'\n' {
                fields.push(std::mem::take(&mut field));
                rows.push((std::mem::take(&mut fields), at + 1 - row_begin));
                (row_begin, is_start) = (at + 1, true);
            } else {
                field.push(byte);
                is_start = false;
            }
            at += 1;
        }
        if open.is_none() && row_begin < text.len() {
            fields.push(field);
            rows.push((fields, text.len() - row_begin));
        }
        (rows, open)
    }

    fn check(dialect: Dialect, text: &[u8]) {
        let (expected, open) = model(dialect, text);
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
                    if is_last || (at + bytes == text.len() && value.ends_with(b"\r")) {
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
        if let Some(open) = open {
            assert_eq!(dialect.row(&text[at..], true, 9, &mut fields), Row::OpenQuote(open - at));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn rows_are_those_of_a_state_machine(
            text in proptest::collection::vec(prop::sample::select(b"\",\na\\".to_vec()), 0..24)
        ) {
            check(Dialect::CSV, &text);
            check(Dialect { escape: Some(b'\\'), ..Dialect::CSV }, &text);
            check(Dialect { quote: None, ..Dialect::CSV }, &text);
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
