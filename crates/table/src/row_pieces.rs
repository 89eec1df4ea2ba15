//! Cuts a text into pieces of whole rows, for callers that take all fields of them.

use crate::bad_row::BadRow;
use crate::format::RowFormat;
use crate::header;
use crate::index::Index;
use crate::input_error::of_read;
use crate::json::Paths;
use crate::rows::Rows;
use crate::split::Dialect;
use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use xsort_extsort::keyed::InputRest;
use xsort_extsort::lines::{InputBytes, LinesInput};
use xsort_extsort::{Error, Observer};

/// Sizes of pieces, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct PieceBytes {
    /// Bytes of a piece, unless a single row is longer.
    pub usual: usize,
    /// Bytes of the longest row.
    pub row_max: usize,
}

/// The rows of an input, in pieces.
pub struct RowPieces {
    path: PathBuf,
    from: InputBytes<'static>,
    format: RowFormat,
    sizes: PieceBytes,
    /// Bytes that were read and belong to no piece yet.
    uncut: Vec<u8>,
    /// The number of the next row, from 1, and the offset of its first byte.
    row: u64,
    offset: u64,
    is_at_end: bool,
    names: Option<Vec<Vec<u8>>>,
}

/// Whole rows.
pub struct RowPiece {
    text: Vec<u8>,
    format: RowFormat,
    index: Index,
    /// The number of the first row, from 1.
    pub row: u64,
    /// The offset of the first byte in the input.
    pub offset: u64,
}

impl RowPieces {
    /// Begins an input. If it `has_header`, reads the names of the columns.
    ///
    /// # Errors
    /// [`Error::Input`] if its beginning is no such text.
    pub fn begin(
        input: LinesInput,
        format: RowFormat,
        has_header: bool,
        sizes: PieceBytes,
        observer: &dyn Observer,
    ) -> Result<RowPieces, Error> {
        let path = input.path.clone();
        let mut rows = Rows::new(input.into_bytes());
        let failed = |error| of_read(&path, error, observer);
        rows.take_mark().map_err(failed)?;
        let names = match format {
            RowFormat::Delimited(dialect) if has_header => {
                let header = header::take(&mut rows, &dialect, sizes.row_max).map_err(failed)?;
                // An empty file has no header.
                (!header.bytes.is_empty()).then_some(header.names)
            }
            _ => None,
        };
        let InputRest { from, read, at } = rows.into_rest(0);
        Ok(RowPieces {
            path,
            from,
            format,
            sizes,
            uncut: read,
            row: at.record,
            offset: at.offset,
            is_at_end: false,
            names,
        })
    }

    /// The names in the header. `None` if there is none.
    pub fn names(&self) -> Option<&[Vec<u8>]> {
        self.names.as_deref()
    }

    /// Returns the next rows, and `None` after the last ones.
    ///
    /// # Errors
    /// [`Error::Input`] if a row has no end, or is too long.
    pub fn next(&mut self, observer: &dyn Observer) -> Result<Option<RowPiece>, Error> {
        self.cut().map_err(|error| of_read(&self.path, error, observer))
    }

    fn cut(&mut self) -> io::Result<Option<RowPiece>> {
        let mut wanted = self.sizes.usual;
        loop {
            self.fill(wanted)?;
            if self.uncut.is_empty() {
                return Ok(None);
            }
            let mut index = Index::default();
            let (bytes, rows) = match self.format {
                RowFormat::Delimited(dialect) => {
                    match index.fill(&dialect, &self.uncut, self.is_at_end, usize::MAX) {
                        Ok(whole) => whole,
                        Err(row) => match row.error(self.row, self.offset) {
                            Some(bad) => return Err(bad.into()),
                            None => (0, 0),
                        },
                    }
                }
                RowFormat::Ndjson => whole_lines(&self.uncut, self.is_at_end),
            };
            if bytes > 0 {
                let rest = self.uncut.split_off(bytes);
                let text = std::mem::replace(&mut self.uncut, rest);
                let (row, offset) = (self.row, self.offset);
                (self.row, self.offset) = (row + rows, offset + bytes as u64);
                return Ok(Some(RowPiece { text, format: self.format, index, row, offset }));
            }
            if self.uncut.len() >= self.sizes.row_max {
                let (row, offset, bytes) = (self.row, self.offset, self.uncut.len() as u64);
                let bytes_max = self.sizes.row_max;
                return Err(BadRow::Endless { row, offset, bytes, bytes_max }.into());
            }
            wanted = (2 * self.uncut.len()).min(self.sizes.row_max);
        }
    }

    /// Reads until `wanted` bytes are there, or the input ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let missing = wanted.saturating_sub(self.uncut.len());
        if self.is_at_end || missing == 0 {
            return Ok(());
        }
        self.uncut.reserve_exact(missing);
        let read = self.from.by_ref().take(missing as u64).read_to_end(&mut self.uncut)?;
        self.is_at_end = read < missing;
        Ok(())
    }
}

impl RowPiece {
    /// The bytes of the rows.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Calls `take` with the number of each row, from 1, and the places of its fields in the text.
    /// Comments are rows with a number, and are passed over. A row of JSON is a single field.
    ///
    /// # Errors
    /// The errors of `take`.
    pub fn for_each_row<E>(
        &self,
        mut take: impl FnMut(u64, &[Range<usize>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut number = self.row;
        match self.format {
            RowFormat::Delimited(dialect) => {
                self.index.for_each_row(&self.text, usize::MAX, |row, fields| {
                    number += 1;
                    match dialect.is_comment(&self.text[row]) {
                        true => Ok(()),
                        false => take(number - 1, fields),
                    }
                })
            }
            RowFormat::Ndjson => {
                let mut begin = 0;
                self.text.split_inclusive(|&byte| byte == b'\n').try_for_each(|line| {
                    let field = begin..begin + line.len();
                    (begin, number) = (field.end, number + 1);
                    take(number - 1, &[field])
                })
            }
        }
    }

    /// Checks that each line is JSON, nested as deep as tables may be, or blank. Returns the number
    /// of those that aren't blank.
    ///
    /// # Errors
    /// What is wrong, with row and byte.
    pub fn check_json(&self) -> Result<usize, String> {
        let (none, mut found, mut lines) = (Paths::new([]), Vec::new(), 0);
        self.for_each_row(|row, fields| {
            let line = &self.text[fields[0].clone()];
            if line.trim_ascii().is_empty() {
                return Ok(());
            }
            lines += 1;
            let offset = self.offset + fields[0].start as u64;
            let checked = none.find(line, &mut found);
            checked.map_err(|invalid| BadRow::of_json(invalid, row).behind(offset).to_string())
        })?;
        Ok(lines)
    }

    /// Returns a field's value without its quotes, and whether it has quotes.
    pub fn value(&self, field: Range<usize>) -> (Cow<'_, [u8]>, bool) {
        let field = &self.text[field];
        match self.format {
            RowFormat::Delimited(dialect) => (dialect.value(field), is_quoted(&dialect, field)),
            RowFormat::Ndjson => (Cow::Borrowed(field), false),
        }
    }
}

fn is_quoted(dialect: &Dialect, field: &[u8]) -> bool {
    dialect.quote.is_some() && field.first().copied() == dialect.quote
}

/// Returns the bytes and the number of the whole lines that a text begins with.
fn whole_lines(text: &[u8], is_last: bool) -> (usize, u64) {
    let bytes = match is_last {
        true => text.len(),
        false => memchr::memrchr(b'\n', text).map_or(0, |end| end + 1),
    };
    let ends = memchr::memchr_iter(b'\n', &text[..bytes]).count() as u64;
    let is_open = bytes > 0 && text[bytes - 1] != b'\n';
    (bytes, ends + u64::from(is_open))
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_extsort::Unobserved;
    use xsort_extsort::lines::Content;

    /// Returns all fields, with the number of their row, and whether they have quotes.
    fn fields(text: &str, dialect: Dialect, usual: usize) -> Vec<(u64, String, bool)> {
        let content = Content::Stream(Box::new(io::Cursor::new(text.to_owned().into_bytes())));
        let input = LinesInput { path: "-".into(), bytes: None, content };
        let sizes = PieceBytes { usual, row_max: 100 };
        let format = RowFormat::Delimited(dialect);
        let mut pieces = RowPieces::begin(input, format, true, sizes, &Unobserved).unwrap();
        let mut all = Vec::new();
        while let Some(piece) = pieces.next(&Unobserved).unwrap() {
            piece
                .for_each_row(|row, fields| {
                    for field in fields {
                        let (value, is_quoted) = piece.value(field.clone());
                        all.push((row, String::from_utf8_lossy(&value).into_owned(), is_quoted));
                    }
                    Ok::<(), ()>(())
                })
                .unwrap();
        }
        all
    }

    #[test]
    fn pieces_of_any_size_have_the_same_rows() {
        let text = "a,b\n1,\"x\"\"\ny\"\n#,no row\r\n,\"\"\r\n3,last";
        let dialect = Dialect { comment: Some(b'#'), ..Dialect::CSV };
        let wanted = [
            (2, "1", false),
            (2, "x\"\ny", true),
            (4, "", false),
            (4, "", true),
            (5, "3", false),
            (5, "last", false),
        ];
        let wanted = wanted.map(|(row, value, is_quoted)| (row, value.to_owned(), is_quoted));
        for usual in [1, 2, 7, 13, 100] {
            assert_eq!(fields(text, dialect, usual), wanted, "{usual}");
        }
        assert!(fields("", dialect, 10).is_empty());
    }
}
