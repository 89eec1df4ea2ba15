//! An input whose lines are already in order, read a block at a time when a merge needs it.

use super::super::block::LoadedBlock;
use super::{InputReader, LinesInput};
use crate::Error;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::Lease;
use xsort_kernels::lines::{LineComparer, for_each_line, last_line, line_end, line_hash};

/// A sorted input, and the bytes read after the last whole line.
pub(crate) struct SortedInput {
    reader: InputReader<'static>,
    path: Arc<Path>,
    delimiter: u8,
    /// The last line that was read for a check, if any was.
    last: Option<Vec<u8>>,
    /// The beginning of the next line, in the block that it was read into.
    partial_line: Option<(Arc<LoadedBlock>, Range<usize>)>,
    lines: u64,
    is_over: bool,
}

/// Whole lines that were read from an input.
pub(crate) struct ReadLines<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a [u8],
    pub(crate) delimiter: u8,
    /// Number of the input's lines before them.
    pub(crate) lines_before: u64,
    /// The line before them, which may be of an earlier input.
    pub(crate) last: Option<&'a [u8]>,
}

impl ReadLines<'_> {
    /// Checks that no line is less than the one before it.
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] with the first line that is.
    pub(crate) fn check_order(&self, comparer: &mut dyn LineComparer) -> Result<(), Error> {
        let ReadLines { path, text, delimiter, lines_before, last } = *self;
        let not_sorted = |lines, line: &[u8], before: &[u8]| {
            let (number, line, before) = (lines_before + lines, line.to_vec(), before.to_vec());
            Err(Error::NotSorted { path: path.to_owned(), number, line, before })
        };
        let first = &text[..line_end(text, delimiter)];
        if let Some(last) = last
            && comparer.compare(last, first).is_gt()
        {
            return not_sorted(1, first, last);
        }
        let checked = comparer.check(text, delimiter, false);
        checked.disorder.map_or(Ok(()), |line| {
            let before = last_line(&text[..line.start], delimiter);
            not_sorted(checked.lines, &text[line], &text[before])
        })
    }
}

/// A block of a sorted input, before its lines are checked.
pub(crate) struct UncheckedBlock {
    path: Arc<Path>,
    delimiter: u8,
    lines_before: u64,
    last: Option<Vec<u8>>,
    block: Arc<LoadedBlock>,
}

impl UncheckedBlock {
    /// Checks that the lines are in order, and not before the lines read earlier. Returns the sum
    /// of their hashes.
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] with the first line that isn't in order.
    pub(crate) fn check(&self, comparer: &mut dyn LineComparer) -> Result<u64, Error> {
        let UncheckedBlock { path, delimiter, lines_before, last, block } = self;
        let (delimiter, lines_before, text) = (*delimiter, *lines_before, block.text());
        let last = last.as_deref();
        ReadLines { path, text, delimiter, lines_before, last }.check_order(comparer)?;
        let mut sum = 0u64;
        for_each_line(text, delimiter, |from, end| {
            sum = sum.wrapping_add(line_hash(&text[from..], end - from));
        });
        Ok(sum)
    }

    /// The block.
    pub(crate) fn into_block(self) -> Arc<LoadedBlock> {
        self.block
    }
}

/// The result of a read.
pub(crate) enum SortedRead {
    /// Whole lines, at least one, and their number.
    Lines(Arc<LoadedBlock>, u64),
    /// The next line is longer than the block.
    TooLong,
    /// There are no more lines.
    End,
}

impl SortedInput {
    pub(crate) fn new(input: LinesInput, delimiter: u8) -> SortedInput {
        let path = input.path.as_path().into();
        let reader = InputReader::new(vec![input], delimiter, None);
        let (last, partial_line, lines, is_over) = (None, None, 0, false);
        SortedInput { reader, path, delimiter, last, partial_line, lines, is_over }
    }

    /// What a check of the `lines` lines just read needs.
    pub(crate) fn unchecked(&mut self, block: Arc<LoadedBlock>, lines: u64) -> UncheckedBlock {
        let last = self.last.replace(block.last_line().to_vec());
        let (path, lines_before) = (Arc::clone(&self.path), self.lines - lines);
        UncheckedBlock { path, delimiter: self.delimiter, lines_before, last, block }
    }

    /// Size in bytes of the last line that was read for a check.
    pub(crate) fn last_line_bytes(&self) -> usize {
        self.last.as_ref().map_or(0, Vec::len)
    }

    /// True if all lines were read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Lines read so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Reads whole lines into `block`: at least `enough` bytes if the block and the input have
    /// them, then on until it has one line. The beginning of a line longer than the block is kept
    /// for the next read, which must come with a larger block.
    pub(crate) fn read(&mut self, mut block: Lease, enough: usize) -> Result<SortedRead, Error> {
        let mut used = 0;
        let mut end = None;
        if let Some((loaded, range)) = self.partial_line.take() {
            if range.len() >= block.len() {
                self.partial_line = Some((loaded, range));
                return Ok(SortedRead::TooLong);
            }
            used = range.len();
            block[..used].copy_from_slice(&loaded.memory()[range]);
        }
        while used < block.len() && (used < enough || end.is_none()) {
            // At most `enough` bytes at once, so that the partial line after the last whole one
            // always fits a block of that size.
            let most = if used < enough { enough - used } else { enough }.min(block.len() - used);
            let bytes = self.reader.read(&mut block[used..][..most])?;
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
                return Ok(SortedRead::End);
            }
            self.partial_line = Some((Arc::new(LoadedBlock::new(block, 0, 0)), 0..used));
            return Ok(SortedRead::TooLong);
        };
        let lines = memchr::memchr_iter(self.delimiter, &block[..=end]).count() as u64;
        self.lines += lines;
        let last_line = last_line(&block[..=end], self.delimiter).start;
        let loaded = Arc::new(LoadedBlock::new(block, end + 1, last_line));
        if end + 1 < used {
            self.partial_line = Some((Arc::clone(&loaded), end + 1..used));
        }
        Ok(SortedRead::Lines(loaded, lines))
    }

    /// Bytes that were read of the next line, and the reader of the rest.
    pub(crate) fn partial_line(&mut self) -> (u64, &mut InputReader<'static>) {
        let bytes = self.partial_line.as_ref().map_or(0, |(_, range)| range.len() as u64);
        (bytes, &mut self.reader)
    }
}
