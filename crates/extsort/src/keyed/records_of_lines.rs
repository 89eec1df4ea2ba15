//! Records of several lines: sorted, the first of them, and checked.

use super::input::{KeyedInput, from_beginning};
use super::keying_threads::KeyingThreads;
use super::line_framing::{LINE_END, MOVED_BYTES_MAX};
use super::line_keying::LineKeying;
use super::line_keys::LineKeys;
use super::record_rule::RecordRule;
use super::restore_lines::RestoreLines;
use super::sort_lines::{KeyedSort, in_order_of};
use crate::lines::{
    InputBytes, LinesDryRun, LinesInput, LinesOptions, LinesReport, SortedOutput, dry_run_lines,
    first_disorder, sort_lines_to,
};
use crate::{Error, Observer};
use std::io::{self, Write};
use std::sync::Arc;
use xsort_disk::Disk;

/// The least budget. What a sort of lines needs, keys and copies of a record take from it.
const BUDGET_BYTES_MIN: u64 = 4 << 20;
/// Bytes that are restored at once.
const PIECE_BYTES: usize = 64 << 10;

/// Records of lines, and their keys. A record is always sorted by a key before it.
#[derive(Clone, Debug)]
pub struct RecordsOfLines<K> {
    /// Builds the key of a record, given without its last delimiter.
    pub keys: Arc<K>,
    /// Which lines are a record.
    pub rule: RecordRule,
    /// Bytes at the beginning of the first input that were taken before.
    pub skipped_bytes: u64,
    /// How many of the first records are written; `None` for all.
    pub top: Option<u64>,
}

impl<K: LineKeys> RecordsOfLines<K> {
    /// Sorts all records of `inputs`, and writes them to `output`. The report's lines are records,
    /// and its spilled bytes are those of records with their keys.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a record that the end of its input cuts short, and
    /// [`Error::LongLine`] for one that is too long; otherwise the errors of
    /// [`sort_lines`](crate::sort_lines).
    pub fn sort(
        &self,
        options: &LinesOptions,
        inputs: Vec<LinesInput>,
        output: SortedOutput<'_>,
        disk: &dyn Disk,
        observer: &dyn Observer,
    ) -> Result<LinesReport, Error> {
        let sort = self.keyed_sort(options)?;
        let Some(top) = self.top else { return sort.run(inputs, output, disk, observer) };
        let inputs = sort.keyed(&Arc::default(), inputs);
        // Only keyed records show where one ends.
        output.write(0, disk, |to| {
            let place = self.keys.place();
            let mut to = TopRecords::new(to, top, RestoreLines::new(options.delimiter, place));
            let (engine, to) = (sort.engine(), SortedOutput::Stream(&mut to));
            sort.report(in_order_of(&*self.keys, |order| {
                sort_lines_to(&engine, order, inputs, to, disk, observer)
            }))
        })
    }

    fn keyed_sort<'s>(&self, options: &'s LinesOptions) -> Result<KeyedSort<'s, K>, Error> {
        let (budget_bytes, needed_bytes) = (options.budget_bytes, BUDGET_BYTES_MIN);
        if budget_bytes < needed_bytes {
            return Err(Error::Memory { budget_bytes, needed_bytes });
        }
        Ok(KeyedSort::of_records(options, &self.keys, self.rule.clone(), self.skipped_bytes))
    }

    /// Plans a sort of `bytes` bytes. Records with their keys take more scratch than their input
    /// has bytes. That is known only when they are read, so `scratch_bytes` is unknown unless it is
    /// zero.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if the budget is too small.
    pub fn plan(&self, options: &LinesOptions, bytes: Option<u64>) -> Result<LinesDryRun, Error> {
        let sort = self.keyed_sort(options)?;
        let plan =
            in_order_of(&*self.keys, |order| dry_run_lines(&sort.engine(), order, bytes, None))?;
        Ok(LinesDryRun { scratch_bytes: plan.scratch_bytes.filter(|&bytes| bytes == 0), ..plan })
    }

    /// Returns the number of the first record of `bytes` that belongs before the one before it, and
    /// the record; with `is_unique`, also one that equals it. The memory is that of the longest
    /// records.
    ///
    /// # Errors
    ///
    /// If the bytes can't be read, or end within a record.
    pub fn first_disorder(
        &self,
        bytes: InputBytes<'_>,
        (delimiter, is_unique): (u8, bool),
        threads: impl FnOnce() -> usize,
    ) -> io::Result<Option<(u64, Vec<u8>)>> {
        let line_bytes_max = isize::MAX as usize / 2;
        let (keys, rule) = (Arc::clone(&self.keys), self.rule.clone());
        let keying =
            Arc::new(LineKeying { keys, delimiter, rule, line_bytes_max, keyed: Arc::default() });
        let own = Arc::new(KeyingThreads::none(keying));
        let keyed = KeyedInput::new(bytes, from_beginning(0), own);
        let found = in_order_of(&*self.keys, |order| {
            first_disorder(order, keyed, LINE_END, is_unique, threads)
        })?;
        Ok(found.map(|(number, keyed)| {
            let mut record = vec![0; keyed.len() + 1];
            let restore = RestoreLines::new(delimiter, self.keys.place());
            let bytes = restore.put(&keyed, &mut record);
            record.truncate(bytes - 1);
            (number, record)
        }))
    }
}

/// Takes keyed records, and writes the first ones without their keys.
struct TopRecords<'w> {
    to: &'w mut (dyn Write + Send),
    restore: RestoreLines,
    records_left: u64,
    buffer: Vec<u8>,
}

impl<'w> TopRecords<'w> {
    fn new(to: &'w mut (dyn Write + Send), records_left: u64, restore: RestoreLines) -> Self {
        TopRecords { to, restore, records_left, buffer: Vec::new() }
    }
}

impl Write for TopRecords<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.chunks(PIECE_BYTES) {
            let mut end = 0;
            while self.records_left > 0 && end < piece.len() {
                let record = memchr::memchr(LINE_END, &piece[end..]);
                self.records_left -= u64::from(record.is_some());
                end = record.map_or(piece.len(), |at| end + at + 1);
            }
            self.buffer.clear();
            self.buffer.extend_from_slice(&piece[..end]);
            self.buffer.resize(end + MOVED_BYTES_MAX, 0);
            let restored = self.restore.apply(&mut self.buffer, end, |_| ());
            self.to.write_all(&self.buffer[..restored])?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
