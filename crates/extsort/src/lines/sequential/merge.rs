//! The plain merge: one thread always takes the smallest line, and of equal lines that of the first
//! input.
//!
//! It starts without a plan, so it is the faster merge for little data. Its result is also defined
//! for inputs that are not in order, as GNU sort defines it: a line smaller than the one before it
//! in its input follows at once.

use super::super::input::{LinesInput, total_bytes};
use super::super::options::LinesOptions;
use super::super::plan::{Plan, usable_bytes};
use super::super::report::LinesReport;
use super::tree::{BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, InputTree, WholeMerge};
use crate::{Compressed, Error, Observer};
use std::cmp::Ordering;
use std::io::Write;
use std::time::Instant;
use xsort_kernels::lines::{LineComparer, LineKernels};

/// Memory per input besides its buffer, in bytes: its state, and the names of its file.
const INPUT_BYTES: u64 = 1 << 10;
/// Merged lines are written once the buffer has this many bytes.
const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// Most inputs that [`merge_sequential`] has memory for at once, at least two. Half of the memory
/// is for long lines.
///
/// To merge more, merge adjacent inputs first ([`merge_passes`](super::merge_passes)).
pub fn sequential_inputs_max(options: &LinesOptions) -> usize {
    let budget_bytes = usable_bytes(options, options.budget_bytes);
    ((budget_bytes / 2 / (BUFFER_BYTES_MIN + INPUT_BYTES)) as usize).max(2)
}

/// Merges `inputs`, at most [`sequential_inputs_max`], and writes them to `output`. Lines that
/// compare equal keep the order of the inputs.
///
/// # Errors
///
/// If an input or the output fails, or if the next lines of all inputs are too long for the budget.
pub fn merge_sequential(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: &mut (dyn Write + Send),
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let whole = WholeMerge::new(options, &inputs);
    merge_part((options, &whole), order, inputs, output, observer)
}

/// Merges all inputs, or a group of them in a merge with passes.
pub(super) fn merge_part(
    (options, whole): (&LinesOptions, &WholeMerge),
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: &mut (dyn Write + Send),
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let begun = Instant::now();
    let runs = inputs.len();
    observer.phase("merge", total_bytes(&inputs).unwrap_or(0));
    let budget_bytes = usable_bytes(options, options.budget_bytes);
    let each = (budget_bytes / 2 / runs.max(1) as u64).saturating_sub(INPUT_BYTES);
    let buffer_bytes = each.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX) as usize;
    let taken_bytes = runs as u64 * (buffer_bytes as u64 + INPUT_BYTES);
    let free_bytes = budget_bytes.saturating_sub(taken_bytes) as usize;
    let mut tree = InputTree::new(order, (options, whole), inputs, buffer_bytes, free_bytes)?;
    let mut output = LineWriter::new(output, options.delimiter, observer);
    let mut duplicates = Duplicates { comparer: order.comparer(), word: 0, last: None };
    let (mut lines, mut bytes) = (0, 0);
    while let Some((word, line)) = tree.first() {
        lines += 1;
        bytes += line.len() as u64 + 1;
        if !options.is_unique || !duplicates.is_duplicate(word, line) {
            output.write(line)?;
        }
        tree.advance()?;
    }
    let plan = plan(buffer_bytes);
    Ok(LinesReport {
        lines,
        bytes,
        written_bytes: output.end()?,
        checksum: None,
        late_lines: None,
        runs,
        spilled_bytes: 0,
        scratch_bytes: 0,
        compressed: Compressed::default(),
        seconds: begun.elapsed().as_secs_f64(),
        shares: plan.shares(options),
        plan,
    })
}

/// The plan for reports: only a buffer for each input, and one for the output.
fn plan(buffer_bytes: usize) -> Plan {
    Plan {
        threads: 1,
        entry_bytes: 0,
        areas: 0,
        area_bytes: 0,
        sort_buffer_bytes: 0,
        write_buffer_bytes: WRITE_BUFFER_BYTES,
        bypass_block_bytes: 0,
        bypass_blocks: 0,
        block_bytes: buffer_bytes,
        index_bytes: 0,
        chunk_bytes: None,
    }
}

/// Finds lines that are equal to the one before.
struct Duplicates<'a> {
    comparer: Box<dyn LineComparer + 'a>,
    /// The key word of the last line that was no duplicate.
    word: u64,
    last: Option<Vec<u8>>,
}

impl Duplicates<'_> {
    fn is_duplicate(&mut self, word: u64, line: &[u8]) -> bool {
        if let Some(last) = &self.last
            && self.word == word
            && self.comparer.compare(last, line) == Ordering::Equal
        {
            return true;
        }
        self.word = word;
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(line);
        false
    }
}

/// Collects merged lines, and writes them.
struct LineWriter<'o> {
    output: &'o mut (dyn Write + Send),
    delimiter: u8,
    observer: &'o dyn Observer,
    buffer: Vec<u8>,
    written_bytes: u64,
}

impl<'o> LineWriter<'o> {
    fn new(
        output: &'o mut (dyn Write + Send),
        delimiter: u8,
        observer: &'o dyn Observer,
    ) -> LineWriter<'o> {
        let buffer = Vec::with_capacity(2 * WRITE_BUFFER_BYTES);
        LineWriter { output, delimiter, observer, buffer, written_bytes: 0 }
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Error> {
        let is_long = line.len() >= WRITE_BUFFER_BYTES;
        if is_long {
            self.flush()?;
            self.output.write_all(line).map_err(Error::Output)?;
            self.observer.advance(line.len() as u64);
        } else {
            self.buffer.extend_from_slice(line);
        }
        self.buffer.push(self.delimiter);
        self.written_bytes += line.len() as u64 + 1;
        if is_long || self.buffer.len() >= WRITE_BUFFER_BYTES {
            self.flush()?;
            if self.observer.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    /// Writes the collected lines.
    fn flush(&mut self) -> Result<(), Error> {
        self.output.write_all(&self.buffer).map_err(Error::Output)?;
        self.observer.advance(self.buffer.len() as u64);
        self.buffer.clear();
        Ok(())
    }

    /// Writes the rest. Returns the total number of bytes written.
    fn end(self) -> Result<u64, Error> {
        self.output
            .write_all(&self.buffer)
            .and_then(|()| self.output.flush())
            .map_err(Error::Output)?;
        Ok(self.written_bytes)
    }
}
