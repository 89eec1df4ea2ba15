//! The first rows of an input, read through a window in memory.

use crate::bad_row::BadRow;
use crate::encoding::{BYTE_ORDER_MARK, MARK_BYTES, may_be_wide, wide_encoding};
use crate::split::{Dialect, Row};
use crate::top_lines::{TOP_BYTES_MAX, too_long, top_of};
use std::io::{self, Read};
use std::ops::Range;
use xsort_extsort::keyed::{InputRest, Piece};
use xsort_extsort::lines::InputBytes;

/// Initial size of the window in bytes.
const BUFFER_BYTES: usize = 256 << 10;
/// Bytes that are read, if there are so many, of a text that may be in UTF-16 or UTF-32.
const ENCODING_BYTES: usize = 4096;

/// Reads the rows of one input, one after the other.
pub(crate) struct Rows<'d> {
    from: InputBytes<'d>,
    window: Vec<u8>,
    /// The part of the window that was read and not taken.
    unread: Range<usize>,
    is_at_end: bool,
    /// Number of the next row, and the offset of its first byte in the input.
    pub(crate) row: u64,
    pub(crate) offset: u64,
}

impl<'d> Rows<'d> {
    pub(crate) fn new(from: InputBytes<'d>) -> Self {
        Rows { from, window: Vec::new(), unread: 0..0, is_at_end: false, row: 1, offset: 0 }
    }

    /// Returns the rest of the input after the rows that were taken. `input` is its number.
    pub(crate) fn into_rest(self, input: u32) -> InputRest<'d> {
        let at = Piece { input, record: self.row, offset: self.offset };
        InputRest { from: self.from, read: self.window[self.unread].to_vec(), at }
    }

    /// Takes the byte order mark before the first row. Returns true if there is one.
    ///
    /// # Errors
    ///
    /// If the input can't be read, or is in UTF-16 or UTF-32.
    pub(crate) fn take_mark(&mut self) -> io::Result<bool> {
        while !self.is_at_end
            && (self.unread.len() < MARK_BYTES
                || self.unread.len() < ENCODING_BYTES
                    && may_be_wide(&self.window[self.unread.clone()]))
        {
            self.read_more()?;
        }
        if let Some(name) = wide_encoding(&self.window[self.unread.clone()]) {
            return Err(BadRow::Encoding { name }.into());
        }
        let is_there = self.window[self.unread.clone()].starts_with(BYTE_ORDER_MARK);
        if is_there {
            self.unread.start += BYTE_ORDER_MARK.len();
            self.offset += BYTE_ORDER_MARK.len() as u64;
        }
        Ok(is_there)
    }

    /// Takes the lines that begin with one of these texts, before the first row. Returns them.
    ///
    /// # Errors
    ///
    /// If the input can't be read, or if they are too long.
    pub(crate) fn take_top(&mut self, prefixes: &[Vec<u8>]) -> io::Result<Vec<u8>> {
        while !prefixes.is_empty() {
            let text = &self.window[self.unread.clone()];
            if let Some((bytes, lines)) = top_of(text, self.is_at_end, prefixes) {
                let top = text[..bytes].to_vec();
                self.unread.start += bytes;
                (self.row, self.offset) = (self.row + lines, self.offset + bytes as u64);
                return Ok(top);
            }
            if text.len() > TOP_BYTES_MAX {
                return Err(too_long().into());
            }
            self.read_more()?;
        }
        Ok(Vec::new())
    }

    /// True if the input has ended, once its beginning was read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_at_end && self.unread.is_empty()
    }

    /// Returns the next row, and its first `fields_max` fields; `None` at the end of the input.
    pub(crate) fn next(
        &mut self,
        dialect: &Dialect,
        row_bytes_max: usize,
        fields_max: usize,
        fields: &mut Vec<Range<usize>>,
    ) -> io::Result<Option<&[u8]>> {
        if self.offset == 0 {
            self.take_mark()?;
        }
        loop {
            let text = &self.window[self.unread.clone()];
            if text.is_empty() && self.is_at_end {
                return Ok(None);
            }
            let row = match text {
                [] => Row::Part,
                text => dialect.row(text, self.is_at_end, fields_max, fields),
            };
            match row {
                Row::Whole(bytes) => {
                    let begin = self.unread.start;
                    self.unread.start += bytes;
                    self.row += 1;
                    self.offset += bytes as u64;
                    return Ok(Some(&self.window[begin..begin + bytes]));
                }
                Row::Part if text.len() > row_bytes_max => {
                    let (row, offset) = (self.row, self.offset);
                    let bytes_max = row_bytes_max;
                    return Err(BadRow::LongHeader { row, offset, bytes_max }.into());
                }
                Row::Part => self.read_more()?,
                bad => return Err(self.bad_row(bad, 0, 0)),
            }
        }
    }

    /// Returns the number of fields in the first row that isn't a comment, without taking it.
    /// `None` if there is none, or if it is longer than `row_bytes_max`.
    ///
    /// # Errors
    ///
    /// If the input can't be read, or the row is invalid.
    pub(crate) fn first_fields(
        &mut self,
        dialect: &Dialect,
        row_bytes_max: usize,
    ) -> io::Result<Option<usize>> {
        let (mut at, mut comments, mut fields) = (0, 0, Vec::new());
        loop {
            let text = &self.window[self.unread.clone()][at..];
            let row = match text {
                [] if self.is_at_end => return Ok(None),
                [] => Row::Part,
                text => dialect.row(text, self.is_at_end, usize::MAX, &mut fields),
            };
            match row {
                Row::Whole(bytes) => {
                    let is_comment = dialect.is_comment(text);
                    if !is_comment {
                        return Ok(Some(fields.len()));
                    }
                    (at, comments) = (at + bytes, comments + 1);
                }
                Row::Part if self.unread.len() > row_bytes_max => return Ok(None),
                Row::Part => self.read_more()?,
                bad => return Err(self.bad_row(bad, at, comments)),
            }
        }
    }

    /// Returns the error of the row at `at` in the window, after `comments` comments.
    fn bad_row(&self, bad: Row, at: usize, comments: u64) -> io::Error {
        let error = bad.error(self.row + comments, self.offset + at as u64);
        error.expect("a row that is whole or begun isn't bad").into()
    }

    /// Reads more of the row that the window begins with.
    fn read_more(&mut self) -> io::Result<()> {
        self.window.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let least = BUFFER_BYTES.max(2 * self.unread.len());
        if self.window.len() < least {
            self.window.resize(least, 0);
        }
        let read = loop {
            match self.from.read(&mut self.window[self.unread.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.unread.end += read;
        self.is_at_end = read == 0;
        Ok(())
    }
}
