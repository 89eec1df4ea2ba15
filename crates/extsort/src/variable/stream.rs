//! A source whose lines are in order already, read a block at a time as a merge needs it.

use super::input::{Input, Source};
use super::read::Loaded;
use crate::Error;
use std::ops::Range;
use std::sync::Arc;
use xsort_disk::Lease;

/// A source, and what was read of it behind the last whole line.
pub(super) struct Stream {
    input: Input<'static>,
    delimiter: u8,
    /// The beginning of the next line, where it was read to.
    tail: Option<(Arc<Loaded>, Range<usize>)>,
    lines: u64,
    is_over: bool,
}

/// What was read.
pub(super) enum Filled {
    /// Whole lines, and how many: one at least.
    Lines(Arc<Loaded>, u64),
    /// No whole line: it takes a larger block.
    Beginning,
    /// There are no more lines.
    Nothing,
}

impl Stream {
    pub(super) fn new(source: Source, delimiter: u8) -> Stream {
        let input = Input::new(vec![source], delimiter, None);
        Stream { input, delimiter, tail: None, lines: 0, is_over: false }
    }

    /// Whether all lines were read.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Lines read so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Reads whole lines into `block`: at least `enough` bytes if the block has room for them, and
    /// then only until there is one. Of a block that had no room for a line the beginning is kept.
    pub(super) fn read(&mut self, mut block: Lease, enough: usize) -> Result<Filled, Error> {
        let mut used = 0;
        let mut end = None;
        if let Some((loaded, range)) = self.tail.take() {
            if range.len() >= block.len() {
                self.tail = Some((loaded, range));
                return Ok(Filled::Beginning);
            }
            used = range.len();
            block[..used].copy_from_slice(&loaded.memory()[range]);
        }
        while used < block.len() && (used < enough || end.is_none()) {
            // So that a line's beginning behind the last whole one always fits a block of `enough`
            // bytes.
            let room = if used < enough { enough - used } else { enough }.min(block.len() - used);
            let bytes = self.input.read(&mut block[used..][..room])?;
            if bytes == 0 {
                self.is_over = true;
                break;
            }
            end = memchr::memrchr(self.delimiter, &block[used..][..bytes])
                .map(|at| used + at)
                .or(end);
            used += bytes;
        }
        let Some(end) = end else {
            if used == 0 {
                return Ok(Filled::Nothing);
            }
            self.tail = Some((Arc::new(Loaded::new(block, 0, 0)), 0..used));
            return Ok(Filled::Beginning);
        };
        let lines = memchr::memchr_iter(self.delimiter, &block[..=end]).count() as u64;
        self.lines += lines;
        let last_line =
            memchr::memrchr(self.delimiter, &block[..end]).map_or(0, |before| before + 1);
        let loaded = Arc::new(Loaded::new(block, end + 1, last_line));
        if end + 1 < used {
            self.tail = Some((Arc::clone(&loaded), end + 1..used));
        }
        Ok(Filled::Lines(loaded, lines))
    }

    /// How many bytes of the next line were read, and where the rest of it comes from.
    pub(super) fn begun(&mut self) -> (u64, &mut Input<'static>) {
        (self.tail.as_ref().map_or(0, |(_, range)| range.len() as u64), &mut self.input)
    }
}
