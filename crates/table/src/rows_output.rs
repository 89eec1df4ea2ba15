//! Rows on their way out: lines of the engine without their keys.

use crate::encode::{CODE, KEY_END, ROW_END, unescaped};
use crate::rows::BUFFER_BYTES;
use std::io::{self, Write};

/// Takes the keys away again, and lets the first rows pass.
pub(crate) struct RowsOutput<W> {
    to: W,
    state: State,
    rows: Vec<u8>,
    rows_left: u64,
    /// Bytes of rows that were written.
    pub(crate) written_bytes: u64,
}

/// Where in a keyed row the next byte is.
#[derive(Clone, Copy)]
enum State {
    Key,
    /// Behind the first byte of a code.
    KeyCode,
    Row,
    RowCode,
}

impl<W: Write> RowsOutput<W> {
    /// An output to `to` of at most `rows_max` rows.
    pub(crate) fn new(to: W, rows_max: u64) -> Self {
        RowsOutput {
            to,
            state: State::Key,
            rows: Vec::with_capacity(2 * BUFFER_BYTES),
            rows_left: rows_max,
            written_bytes: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.rows_left == 0 {
            return Ok(());
        }
        self.rows.extend_from_slice(bytes);
        if self.rows.len() >= BUFFER_BYTES { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> io::Result<()> {
        self.to.write_all(&self.rows)?;
        self.written_bytes += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}

impl<W: Write> Write for RowsOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            match self.state {
                State::Key => match memchr::memchr(CODE, rest) {
                    Some(at) => {
                        rest = &rest[at + 1..];
                        self.state = State::KeyCode;
                    }
                    None => break,
                },
                State::KeyCode => {
                    rest = &rest[1..];
                    self.state = if first == KEY_END { State::Row } else { State::Key };
                }
                State::Row => {
                    let end = memchr::memchr2(ROW_END, CODE, rest);
                    self.push(&rest[..end.unwrap_or(rest.len())])?;
                    let Some(end) = end else { break };
                    if rest[end] == ROW_END {
                        self.rows_left = self.rows_left.saturating_sub(1);
                        self.state = State::Key;
                    } else {
                        self.state = State::RowCode;
                    }
                    rest = &rest[end + 1..];
                }
                State::RowCode => {
                    self.push(&[unescaped(first)])?;
                    rest = &rest[1..];
                    self.state = State::Row;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_rows()?;
        self.to.flush()
    }
}
