//! Merges ranges of sorted data with the engine of lines. The input from each range and the output
//! are counted and summed.
//!
//! For each range that is being merged some blocks are read ahead. If the budget has no room for
//! the blocks of all ranges, the engine first merges neighbouring ranges to scratch, and each range
//! is opened when its turn comes.

use crate::error::Error;
use crate::means::Means;
use crate::merge_range::{MergeRange, checksum_of};
use crate::record_sum::{Framing, RecordSum};
use parking_lot::Mutex;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::lines::{
    Content, FileOutput, LineKernels, LinesInput, RangeRead, merge_sequential,
    sequential_inputs_max,
};
use xsort_extsort::{LinesOptions, Reservation, merge_lines};
use xsort_records::Checksum;

/// From this number of bytes on, all threads merge.
const SEQUENTIAL_BYTES_MAX: u64 = 64 << 20;
/// Number of blocks that are read ahead of a range.
const BLOCKS: usize = 2;
/// The maximum and minimum size of a block.
const BLOCK_BYTES_MAX: u64 = 512 << 10;
const BLOCK_BYTES_MIN: u64 = 16 << 10;
/// Blocks take `1 / READ_SHARE` of the memory; the rest is for merging.
const READ_SHARE: u64 = 4;
/// Minimum memory of the engine for a block, and for everything else.
const ENGINE_BYTES_MIN: u64 = 8 << 10;
const MERGE_BYTES_MIN: u64 = 4 << 20;
/// Maximum memory of the engine for a range being merged, and its memory for a waiting range.
const ENGINE_BYTES_MAX: u64 = 64 << 10;
const WAITING_BYTES: u64 = 1 << 10;
/// Step by which the minimum budget is searched.
const MEMORY_STEP: u64 = 1 << 20;
/// Maximum number of bytes that are kept of the first and last record, and of a key in a sample.
pub(crate) const KEPT_BYTES: usize = 64 << 10;

/// The first error of a range. The engine's own error would say less.
type Fault = Arc<Mutex<Option<Error>>>;

/// A range that is opened by its first read and compared with its entry at its end.
struct CheckedRead {
    disk: Arc<dyn Disk>,
    range: MergeRange,
    block_bytes: usize,
    state: State,
    sum: RecordSum,
    fault: Fault,
}

enum State {
    Waiting,
    Open(Box<RangeRead>),
    /// The range was read completely and takes no more memory.
    Over,
}

impl CheckedRead {
    /// Opens the range before its first read.
    fn open(&mut self) -> Result<(), Error> {
        let place = (self.range.entry.offset, self.range.entry.bytes);
        let blocks = (BLOCKS, self.block_bytes);
        let read = RangeRead::open(&self.disk, &self.range.path, place, blocks)
            .map_err(|error| self.range.lost(error))?;
        self.state = State::Open(Box::new(read));
        Ok(())
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        if let State::Waiting = self.state {
            self.open()?;
        }
        let State::Open(read) = &mut self.state else { return Ok(0) };
        let bytes = read.read(buffer).map_err(|error| {
            self.range.lost(xsort_disk::Error::of_read(&self.range.path, error))
        })?;
        self.sum.add(&buffer[..bytes]);
        if bytes == 0 && !buffer.is_empty() {
            self.state = State::Over;
            self.range.check(self.sum.checksum())?;
        }
        Ok(bytes)
    }
}

impl Read for CheckedRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_on(buffer).map_err(|error| {
            let text = error.to_string();
            self.fault.lock().get_or_insert(error);
            io::Error::other(text)
        })
    }
}

/// An output that counts and sums the records written to it.
struct SummedWrite<'w> {
    to: &'w mut (dyn Write + Send),
    sum: RecordSum,
}

impl Write for SummedWrite<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes)?;
        self.sum.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The result of merging.
pub(crate) struct MergedRecords {
    pub(crate) checksum: Checksum,
    /// The beginnings of the first and the last record.
    pub(crate) ends: Option<(Vec<u8>, Vec<u8>)>,
}

/// The parameters of a merge.
struct MergePlan {
    options: LinesOptions,
    /// Size in bytes of a block that is read ahead.
    block_bytes: u64,
    /// Whether all ranges are merged at once.
    is_one_pass: bool,
}

impl MergePlan {
    /// Plans a merge of `count` ranges within the budget. Returns `None` if the budget is too
    /// small.
    fn new(
        budget_bytes: u64,
        count: usize,
        (end, output): (u8, &Path),
        means: &Means<'_>,
    ) -> Option<MergePlan> {
        let plan = |read_bytes, block_bytes, is_one_pass| {
            let reservation = Reservation::default()
                .with("output blocks", FileOutput::MEMORY_BYTES)
                .with("blocks read ahead", read_bytes);
            let engine = means.engine(end, reservation, output);
            let options = LinesOptions { budget_bytes, ..engine };
            MergePlan { options, block_bytes, is_one_pass }
        };
        let usable_bytes = budget_bytes.checked_sub(FileOutput::MEMORY_BYTES + MERGE_BYTES_MIN)?;
        let blocks = count.max(1) as u64 * BLOCKS as u64;
        let block_bytes = budget_bytes / READ_SHARE / blocks;
        let block_bytes = block_bytes.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX) / 4096 * 4096;
        let all = plan(blocks * block_bytes, block_bytes, true);
        if blocks * (block_bytes + ENGINE_BYTES_MIN) <= usable_bytes
            && count <= sequential_inputs_max(&all.options)
        {
            return Some(all);
        }
        // With this number of blocks, the remaining memory doesn't allow the engine to merge more
        // ranges at once.
        let waiting_bytes = count as u64 * WAITING_BYTES;
        let shared_bytes = usable_bytes.checked_sub(waiting_bytes)? + MERGE_BYTES_MIN;
        let read_bytes = BLOCKS as u64 * BLOCK_BYTES_MIN;
        let ranges = shared_bytes.div_ceil(read_bytes + ENGINE_BYTES_MAX);
        Some(plan(waiting_bytes + ranges * read_bytes, BLOCK_BYTES_MIN, false))
    }
}

/// Merges ranges of records that end with `end` to a writer, for the file `output`.
pub(crate) fn merge_ranges(
    ranges: &[MergeRange],
    (end, order): (u8, &dyn LineKernels),
    to: &mut (dyn Write + Send),
    output: &Path,
    means: &Means<'_>,
) -> Result<MergedRecords, Error> {
    let file = (end, output);
    let budget_bytes = means.job.budget_bytes();
    let plan = MergePlan::new(budget_bytes, ranges.len(), file, means).ok_or_else(|| {
        let mut needed_bytes = budget_bytes.next_multiple_of(MEMORY_STEP);
        while MergePlan::new(needed_bytes, ranges.len(), file, means).is_none() {
            needed_bytes += MEMORY_STEP;
        }
        xsort_extsort::Error::Memory { budget_bytes, needed_bytes }
    })?;
    let MergePlan { options, block_bytes, is_one_pass } = plan;
    let fault = Fault::default();
    let open = |range: &MergeRange| -> Result<LinesInput, Error> {
        let mut read = CheckedRead {
            disk: Arc::clone(&means.job.disk),
            range: range.clone(),
            block_bytes: block_bytes as usize,
            state: State::Waiting,
            sum: RecordSum::new(Framing::End(end)),
            fault: Arc::clone(&fault),
        };
        if is_one_pass {
            // All ranges are opened now, so that their blocks are read ahead.
            read.open()?;
        }
        let content = Content::Stream(Box::new(read));
        Ok(LinesInput { path: range.path.clone(), bytes: Some(range.entry.bytes), content })
    };
    let inputs = ranges.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let sent = checksum_of(ranges);
    let bytes: u64 = ranges.iter().map(|range| range.entry.bytes).sum();

    let sum = RecordSum::new(Framing::End(end)).keeping_ends(KEPT_BYTES);
    let mut summed = SummedWrite { to, sum };
    let (disk, observer) = (&*means.job.disk, means.observer);
    let merged = match is_one_pass && bytes < SEQUENTIAL_BYTES_MAX {
        true => merge_sequential(&options, order, inputs, &mut summed, observer),
        false => merge_lines(&options, order, inputs, &mut summed, disk, observer),
    };
    if let Some(fault) = fault.lock().take() {
        return Err(fault);
    }
    merged.map_err(|error| error.of_output(output))?;
    let came = summed.sum.checksum();
    xsort_extsort::Error::check_balance(sent, came)?;
    if !summed.sum.is_whole() {
        let what = "the last record that would be written has no end".to_owned();
        return Err(xsort_extsort::Error::Lost { what }.into());
    }
    Ok(MergedRecords { checksum: came, ends: summed.sum.into_ends() })
}
