//! An input of a plain merge, and its current line.

use super::super::input::{InputReader, LinesInput};
use crate::Error;

/// An input, and its current line.
pub(crate) struct InputCursor {
    pub(crate) reader: InputReader<'static>,
    delimiter: u8,
    buffer: Vec<u8>,
    /// The part of the buffer that is read and not yet merged. It begins with the current line.
    from: usize,
    to: usize,
    /// Length of the current line in bytes.
    line_bytes: usize,
    /// The first key word of the current line.
    pub(crate) word: u64,
    /// Key of the current line, if keys are costly and the line isn't long.
    pub(crate) key: Vec<u8>,
    /// True if there is a current line.
    pub(crate) is_live: bool,
}

/// The result of reading the next line.
pub(crate) enum Standing {
    Line,
    /// The beginning of a line that is longer than the buffer.
    LongLine,
    End,
}

impl InputCursor {
    pub(crate) fn new(input: LinesInput, delimiter: u8, buffer_bytes: usize) -> InputCursor {
        InputCursor {
            reader: InputReader::new(vec![input], delimiter, None),
            delimiter,
            buffer: vec![0; buffer_bytes],
            from: 0,
            to: 0,
            line_bytes: 0,
            word: 0,
            key: Vec::new(),
            is_live: true,
        }
    }

    /// The current line, without its delimiter.
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[self.from..][..self.line_bytes]
    }

    /// Size of the buffer in bytes.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Moves past the current line.
    pub(crate) fn pass_line(&mut self) {
        self.from += self.line_bytes + 1;
    }

    /// Reads until the next line is in the buffer, or the buffer is full.
    pub(crate) fn read_line(&mut self) -> Result<Standing, Error> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.from..self.to];
            if let Some(end) = memchr::memchr(self.delimiter, &unread[searched..]) {
                self.line_bytes = searched + end;
                return Ok(Standing::Line);
            }
            searched = unread.len();
            if self.from > 0 {
                self.buffer.copy_within(self.from..self.to, 0);
                (self.from, self.to) = (0, searched);
            }
            if self.to == self.buffer.len() {
                return Ok(Standing::LongLine);
            }
            match self.reader.read(&mut self.buffer[self.to..])? {
                0 => return Ok(Standing::End),
                bytes => self.to += bytes,
            }
        }
    }

    /// Enlarges the buffer by `bytes` bytes.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.buffer.reserve_exact(bytes);
        self.buffer.resize(self.buffer.len() + bytes, 0);
    }

    /// Shrinks the buffer as far as its content allows, but not below `buffer_bytes`. Returns the
    /// number of bytes freed.
    pub(crate) fn shrink(&mut self, buffer_bytes: usize) -> usize {
        let before = self.buffer.len();
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        self.buffer.truncate(self.to.max(buffer_bytes));
        self.buffer.shrink_to_fit();
        before - self.buffer.len()
    }

    /// Frees the buffer, at the end of the input. Returns its size in bytes.
    pub(crate) fn end(&mut self) -> usize {
        self.is_live = false;
        std::mem::take(&mut self.buffer).len()
    }
}
