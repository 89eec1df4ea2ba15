//! A source whose lines are in order already, read a block at a time as a merge needs it.

use super::input::{Input, Source};
use crate::Error;

/// A source, and what was read of it behind the last whole line.
pub(super) struct Stream {
    input: Input<'static>,
    delimiter: u8,
    carry: Vec<u8>,
    lines: u64,
    is_over: bool,
}

/// What was read into a block.
pub(super) struct Filled {
    /// Bytes of whole lines.
    pub(super) bytes: usize,
    /// Where the last one begins.
    pub(super) last_line: usize,
}

impl Stream {
    pub(super) fn new(source: Source, delimiter: u8) -> Stream {
        let input = Input::new(vec![source], delimiter, None);
        Stream { input, delimiter, carry: Vec::new(), lines: 0, is_over: false }
    }

    /// Whether all lines were read.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Lines read so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Fills a block with whole lines; `None` if there are no more.
    pub(super) fn read(&mut self, block: &mut [u8]) -> Result<Option<Filled>, Error> {
        let mut bytes = self.carry.len();
        block[..bytes].copy_from_slice(&self.carry);
        self.carry.clear();
        while bytes < block.len() {
            match self.input.read(&mut block[bytes..])? {
                0 => {
                    self.is_over = true;
                    break;
                }
                more => bytes += more,
            }
        }
        let Some(end) = memchr::memrchr(self.delimiter, &block[..bytes]) else {
            if bytes == 0 {
                return Ok(None);
            }
            return Err(Error::Settings(format!(
                "{}: a line is longer than {bytes} bytes, too long for this memory budget (-S)",
                self.input.name(),
            )));
        };
        self.carry.extend_from_slice(&block[end + 1..bytes]);
        self.lines += memchr::memchr_iter(self.delimiter, &block[..=end]).count() as u64;
        let last_line = memchr::memrchr(self.delimiter, &block[..end]).map_or(0, |before| before + 1);
        Ok(Some(Filled { bytes: end + 1, last_line }))
    }
}
