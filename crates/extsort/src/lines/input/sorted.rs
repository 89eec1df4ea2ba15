//! An input whose lines are already in order, read a block at a time when a merge needs it.

use super::super::block::LoadedBlock;
use super::{InputReader, LinesInput};
use crate::Error;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::Lease;
use xsort_kernels::lines::{LineComparer, for_each_line, line_end, line_hash};

/// A sorted input, and the bytes read after the last whole line.
pub(crate) struct SortedInput {
    reader: InputReader<'static>,
    path: PathBuf,
    delimiter: u8,
    /// The last line that was checked, if any was.
    last: Option<Vec<u8>>,
    /// The beginning of the next line, in the block that it was read into.
    partial_line: Option<(Arc<LoadedBlock>, Range<usize>)>,
    lines: u64,
    is_over: bool,
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
        let path = input.path.clone();
        let reader = InputReader::new(vec![input], delimiter, None);
        let (last, partial_line, lines, is_over) = (None, None, 0, false);
        SortedInput { reader, path, delimiter, last, partial_line, lines, is_over }
    }

    /// Checks that the lines just read are in order, and not before the lines read earlier. Returns
    /// the sum of their hashes.
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] with the first line that isn't in order.
    pub(crate) fn check(
        &mut self,
        read: &LoadedBlock,
        lines: u64,
        comparer: &mut dyn LineComparer,
    ) -> Result<u64, Error> {
        let text = read.text();
        let first = &text[..line_end(text, self.delimiter)];
        let lines_before = self.lines - lines;
        if let Some(last) = &self.last
            && comparer.compare(last, first).is_gt()
        {
            return Err(self.not_sorted(lines_before + 1, first, last));
        }
        let checked = comparer.check(text, self.delimiter, false);
        if let Some(line) = checked.disorder {
            let before = &text[..line.start - 1];
            let from = memchr::memrchr(self.delimiter, before).map_or(0, |end| end + 1);
            let number = lines_before + checked.lines;
            return Err(self.not_sorted(number, &text[line], &before[from..]));
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(read.last_line());
        let mut sum = 0u64;
        for_each_line(text, self.delimiter, |from, end| {
            sum = sum.wrapping_add(line_hash(&text[from..], end - from));
        });
        Ok(sum)
    }

    fn not_sorted(&self, number: u64, line: &[u8], before: &[u8]) -> Error {
        let (path, line, before) = (self.path.clone(), line.to_vec(), before.to_vec());
        Error::NotSorted { path, number, line, before }
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
        let last_line =
            memchr::memrchr(self.delimiter, &block[..end]).map_or(0, |before| before + 1);
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
