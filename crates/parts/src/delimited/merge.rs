//! Merging ranges of sorted data by the engine of lines. What comes of each range, and what goes
//! out, is counted and summed.

use crate::error::Error;
use crate::means::Means;
use crate::merge_range::{MergeRange, checksum_of};
use crate::record_sum::{Framing, RecordSum};
use parking_lot::Mutex;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use xsort_extsort::variable::{
    Content, FileOutput, LineOrder, LinesInput, RangeRead, merge_sequential, sequential_inputs_max,
};
use xsort_extsort::{LinesOptions, merge_lines};
use xsort_records::Checksum;

/// From so many bytes on all threads merge.
const SEQUENTIAL_BYTES_MAX: u64 = 64 << 20;
/// Blocks that are read ahead of a range.
const BLOCKS: usize = 2;
/// The largest and the smallest of them.
const BLOCK_BYTES_MAX: u64 = 512 << 10;
const BLOCK_BYTES_MIN: u64 = 16 << 10;
/// These take so much of the memory, the rest is for merging.
const READ_SHARE: u64 = 4;
/// What the engine needs at least for a block, and for all else.
const ENGINE_BYTES_MIN: u64 = 8 << 10;
const MERGE_BYTES_MIN: u64 = 4 << 20;
/// Bytes of the first record and the last that are kept, as of a key in a sample.
pub(crate) const KEPT_BYTES: usize = 64 << 10;

/// The first error of a range: what the engine makes of it says less.
type Fault = Arc<Mutex<Option<Error>>>;

/// A range, compared with its entry at its end.
struct CheckedRead {
    read: RangeRead,
    range: MergeRange,
    sum: RecordSum,
    fault: Fault,
}

impl CheckedRead {
    fn fail(&self, error: Error) -> io::Error {
        let text = error.to_string();
        self.fault.lock().get_or_insert(error);
        io::Error::other(text)
    }
}

impl Read for CheckedRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.read.read(buffer).map_err(|error| {
            let error = xsort_disk::Error::of_read(&self.range.path, error);
            self.fail(self.range.lost(error))
        })?;
        self.sum.add(&buffer[..bytes]);
        if bytes == 0 && !buffer.is_empty() {
            self.range.check(self.sum.checksum()).map_err(|error| self.fail(error))?;
        }
        Ok(bytes)
    }
}

/// An output that counts and sums what it takes.
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

/// What was merged.
pub(crate) struct MergedRecords {
    pub(crate) checksum: Checksum,
    /// The beginnings of the first record and the last.
    pub(crate) ends: Option<(Vec<u8>, Vec<u8>)>,
}

/// The engine's settings for a merge of `count` ranges in a budget, and bytes of a block that is
/// read ahead; `None` if the budget is too small for so many.
fn settings(
    budget_bytes: u64,
    count: usize,
    (end, output): (u8, &Path),
    means: &Means<'_>,
) -> Option<(LinesOptions, u64)> {
    let blocks = count.max(1) as u64 * BLOCKS as u64;
    let block_bytes = budget_bytes / READ_SHARE / blocks;
    let block_bytes = block_bytes.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX) / 4096 * 4096;
    let taken_bytes = FileOutput::MEMORY_BYTES + blocks * block_bytes;
    let engine = means.engine(end, taken_bytes, output);
    let options = LinesOptions { budget_bytes, ..engine };
    let needed_bytes = taken_bytes + blocks * ENGINE_BYTES_MIN + MERGE_BYTES_MIN;
    let fits = needed_bytes <= budget_bytes && count <= sequential_inputs_max(&options);
    fits.then_some((options, block_bytes))
}

/// Merges ranges of records that end with `end` to a writer, for the file `output`.
pub(crate) fn merge_ranges<O: LineOrder>(
    ranges: &[MergeRange],
    (end, order): (u8, &O),
    to: &mut (dyn Write + Send),
    output: &Path,
    means: &Means<'_>,
) -> Result<MergedRecords, Error> {
    let (options, block_bytes) = settings(means.budget_bytes, ranges.len(), (end, output), means)
        .ok_or_else(|| {
        let budget_bytes = means.budget_bytes;
        let mut needed_bytes = budget_bytes.max(1 << 20);
        while settings(needed_bytes, ranges.len(), (end, output), means).is_none() {
            needed_bytes *= 2;
        }
        xsort_extsort::Error::Memory { budget_bytes, needed_bytes }
    })?;
    let fault = Fault::default();
    let open = |range: &MergeRange| -> Result<LinesInput, Error> {
        let (entry, blocks) = (&range.entry, (BLOCKS, block_bytes as usize));
        let read = RangeRead::open(&means.disk, &range.path, (entry.offset, entry.bytes), blocks)
            .map_err(|error| range.lost(error))?;
        let (sum, fault) = (RecordSum::new(Framing::End(end)), Arc::clone(&fault));
        let read = CheckedRead { read, range: range.clone(), sum, fault };
        let content = Content::Stream(Box::new(read));
        Ok(LinesInput { path: range.path.clone(), bytes: Some(entry.bytes), content })
    };
    let inputs = ranges.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let sent = checksum_of(ranges);
    let bytes: u64 = ranges.iter().map(|range| range.entry.bytes).sum();

    let sum = RecordSum::new(Framing::End(end)).keeping_ends(KEPT_BYTES);
    let mut summed = SummedWrite { to, sum };
    let (disk, observer) = (&*means.disk, means.observer);
    let merged = match bytes < SEQUENTIAL_BYTES_MAX {
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
