//! Lines that were read and haven't left yet, and their counts.

use super::arrivals::Block;
use std::ops::Range;
use std::path::PathBuf;
use xsort_kernels::lines::{for_each_line, line_hash};

/// A number of lines, their bytes with delimiters, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) sum: u64,
}

impl Counts {
    /// Adds whole lines.
    pub(super) fn add(&mut self, text: &[u8], delimiter: u8) {
        let (mut lines, mut sum) = (0, 0u64);
        for_each_line(text, delimiter, |from, end| {
            lines += 1;
            sum = sum.wrapping_add(line_hash(&text[from..], end - from));
        });
        self.lines += lines;
        self.bytes += text.len() as u64;
        self.sum = self.sum.wrapping_add(sum);
    }
}

/// Lines in the order in which they came, and the beginning of the next one.
pub(super) struct Waiting {
    pub(super) delimiter: u8,
    pub(super) text: Vec<u8>,
    /// Bytes of the whole lines.
    pub(super) whole: usize,
    /// The input of the last line, and the number of its lines that were read.
    pub(super) path: PathBuf,
    pub(super) lines_of_input: u64,
    /// All lines that were read.
    pub(super) read: Counts,
}

impl Waiting {
    /// Nothing, with memory for `bytes` bytes.
    pub(super) fn new(delimiter: u8, bytes: usize) -> Waiting {
        Waiting {
            delimiter,
            text: Vec::with_capacity(bytes),
            whole: 0,
            path: PathBuf::new(),
            lines_of_input: 0,
            read: Counts::default(),
        }
    }

    /// Appends a block. Returns the range of the lines that are whole now and weren't before.
    pub(super) fn append(&mut self, block: &Block) -> Range<usize> {
        if let Some(path) = &block.path {
            self.path.clone_from(path);
            self.lines_of_input = 0;
        }
        let (from, begin) = (self.text.len(), self.whole);
        self.text.reserve_exact(block.bytes.len());
        self.text.extend_from_slice(&block.bytes);
        if let Some(end) = memchr::memrchr(self.delimiter, &block.bytes) {
            self.whole = from + end + 1;
        }
        let lines = self.read.lines;
        self.read.add(&self.text[begin..self.whole], self.delimiter);
        self.lines_of_input += self.read.lines - lines;
        begin..self.whole
    }

    /// The whole lines.
    pub(super) fn lines(&self) -> &[u8] {
        &self.text[..self.whole]
    }

    /// Takes the first `bytes` bytes of whole lines. The others get memory for `capacity` bytes.
    pub(super) fn take_front(&mut self, bytes: usize, capacity: usize) -> Vec<u8> {
        let mut rest = Vec::with_capacity(capacity.max(self.text.len() - bytes));
        rest.extend_from_slice(&self.text[bytes..]);
        self.text.truncate(bytes);
        self.whole -= bytes;
        std::mem::replace(&mut self.text, rest)
    }

    /// Drops all bytes from `to` up to the end of the whole lines.
    pub(super) fn cut_whole(&mut self, to: usize) {
        if to < self.whole {
            self.text.copy_within(self.whole.., to);
            self.text.truncate(to + self.text.len() - self.whole);
            self.whole = to;
        }
    }
}
