//! Phase two of a sort of lines: runs are merged, in several passes if they are too many for the
//! memory.
//!
//! ```text
//!  runs in memory -----------------.
//!  runs on scratch --> reader --> cursors --> cutter --> segments
//!  sorted inputs ---------^                                 |
//!                        sink <-- ordered writer <-- workers
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `passes` | too many runs are merged to fewer |
//! | `threads` | one merge, on one thread or several |
//! | `coordinator` | reads blocks, cuts segments, and passes both to workers |
//! | `worker` | merges segments and decompresses blocks |
//! | `reader` | which blocks to read, and when |
//! | `cut` | where a merge is cut into segments |
//! | `segment` | the lines between two cuts |
//! | `ordered_writer` | threads write in the order of the output |
//! | `sink` | the destination of merged lines: the output, or a run on scratch |
//! | `cursor` | the position of the merge in one run |
//! | `compressed` | blocks between their read and their decompression |
//! | `memory` | blocks of two sizes |

mod compressed;
mod coordinator;
mod cursor;
mod cut;
mod memory;
mod ordered_writer;
mod passes;
mod reader;
mod segment;
mod sink;
mod threads;
mod worker;

use super::areas::Areas;
use super::job::LinesJob;
use super::output::LinesOutput;
use super::plan::LinesMemory;
use super::report::{FormTotals, LinesReport};
use super::run::Run;
use crate::Error;
use crate::store::journal::Step;
use crate::store::output_prefix::OutputPrefix;
use crate::store::write_behind::WriteBehind;
use coordinator::MergeStart;
pub(super) use ordered_writer::OrderedWriter;
pub(super) use segment::{RunSlice, Segment};
pub(super) use sink::MergedOutput;
use sink::{MergedLines, OutputProgress, OutputTarget, Sink};
use std::sync::Arc;
use std::time::Instant;
pub(super) use worker::MergeWorker;
use xsort_disk::BlockPool;

/// The result of phase one, for phase two.
pub(super) struct FormedRuns<'j> {
    /// The runs, in the order of the input.
    pub(super) runs: Vec<Run>,
    /// The memory that no run uses.
    pub(super) memory: LinesMemory,
    /// Number of lines that were read.
    pub(super) lines: u64,
    /// Bytes of the lines.
    pub(super) bytes: u64,
    /// Bytes to be merged; 0 if unknown.
    pub(super) expected_bytes: u64,
    /// True if an earlier process has read all inputs, so this one didn't need them.
    pub(super) is_replayed: bool,
    /// The output, if lines that came in order are in it already.
    pub(super) output: Option<MergedOutput<'j>>,
}

impl FormedRuns<'_> {
    /// The result for no lines.
    pub(super) fn nothing(memory: LinesMemory) -> Self {
        let (runs, lines, bytes, expected_bytes) = (Vec::new(), 0, 0, 0);
        FormedRuns { runs, memory, lines, bytes, expected_bytes, is_replayed: false, output: None }
    }
}

/// Merges all runs into the output. Returns the report, and the length and checksum of the output.
/// `output` is used unless phase one has begun it.
pub(super) fn merge_all<'j>(
    job: &'j LinesJob<'_>,
    begun: Instant,
    formed: FormedRuns<'j>,
    output: Option<LinesOutput<'j>>,
) -> Result<(LinesReport, OutputPrefix), Error> {
    let FormedRuns { runs, mut memory, lines, bytes, expected_bytes, output: early, .. } = formed;
    let totals = FormTotals { lines, bytes, runs: runs.len() };
    // Lines of sorted inputs are only counted, unless they are checked.
    let is_checked = job.checks_inputs || !runs.iter().any(Run::is_sorted_input);
    let (runs, areas) =
        passes::reduce(job, runs, Areas::new(memory.areas), &mut memory.write_buffers)?;
    job.observer.phase("merge", expected_bytes);
    let (start, output) = match (early, output) {
        (Some(early), _) => {
            check_lines(lines, early.lines(), &runs)?;
            (MergeStart::default(), early)
        }
        (None, Some(output)) => open(job, &runs, output, memory.bypass, expected_bytes)?,
        (None, None) => unreachable!("phase one has begun the output, or it is there"),
    };
    let buffers = &mut memory.write_buffers;
    let (output, _) = threads::merge_runs(job, &runs, &start, areas, buffers, output)?;
    let output = output.end()?;
    Ok((LinesReport::new(job, totals, is_checked, output.bytes, begun)?, output))
}

/// Checks that each line is in the output or in a run.
fn check_lines(read: u64, written: u64, runs: &[Run]) -> Result<(), Error> {
    let in_runs: u64 = runs.iter().map(Run::lines).sum();
    if read == written + in_runs {
        return Ok(());
    }
    let what = format!("{written} lines written and {in_runs} in runs, of {read}");
    Err(Error::Lost { what })
}

/// Opens the output for lines that come in order, before phase one. It stays for
/// [later](EarlyOutput::Later) if it can be written only through the page cache.
pub(super) fn open_early<'j>(
    job: &'j LinesJob<'_>,
    output: LinesOutput<'j>,
    blocks: Arc<BlockPool>,
    expected_bytes: u64,
) -> Result<EarlyOutput<'j>, Error> {
    let nothing = OutputPrefix::default();
    let target = match target_of(job, output, Some(blocks), expected_bytes, &nothing)? {
        OutputTarget::Stream(stream) => return Ok(EarlyOutput::Later(LinesOutput::Stream(stream))),
        file @ OutputTarget::File(_) => file,
    };
    let mut output = MergedOutput::new(target, nothing, MergedLines::default(), job.journal);
    output.write(job.form.map_or(&[][..], |form| form.head), None, 0)?;
    Ok(EarlyOutput::Open(Box::new(output)))
}

/// Opens the writer of an output of which `written` is there already. Without `blocks`, a stream is
/// written through the page cache.
fn target_of<'j>(
    job: &'j LinesJob<'_>,
    output: LinesOutput<'j>,
    blocks: Option<Arc<BlockPool>>,
    expected_bytes: u64,
    written: &OutputPrefix,
) -> Result<OutputTarget<'j>, Error> {
    Ok(match (output, blocks) {
        (LinesOutput::Unpublished(file), blocks) => {
            let blocks = blocks.expect("the plan has blocks for such an output");
            let write = WriteBehind::resume(job.disk, file, blocks, expected_bytes, written)?;
            OutputTarget::File(write)
        }
        (LinesOutput::Stream(stream), Some(blocks)) => {
            OutputTarget::open(job, stream, blocks, expected_bytes)?
        }
        (LinesOutput::Stream(stream), None) => OutputTarget::Stream(stream),
    })
}

/// The output before phase one.
pub(super) enum EarlyOutput<'j> {
    /// Lines that come in order can be written to it.
    Open(Box<MergedOutput<'j>>),
    /// It can be written only in phase two.
    Later(LinesOutput<'j>),
}

/// Opens the output, and continues where an earlier process has ended.
fn open<'j>(
    job: &'j LinesJob<'_>,
    runs: &[Run],
    output: LinesOutput<'j>,
    bypass: Option<Arc<BlockPool>>,
    expected_bytes: u64,
) -> Result<(MergeStart, MergedOutput<'j>), Error> {
    let progress: OutputProgress = job.journal.replay(Step::Written)?.unwrap_or_default();
    progress.check(runs).map_err(|detail| job.journal.refuse(Step::Written, &detail))?;
    let OutputProgress { prefix, positions, merged } = progress;
    let head = job.form.map_or(&[][..], |form| form.head);
    let missing_head = if prefix.bytes == 0 { head } else { &[] };
    // What is in memory goes through the page cache, unless the output must not.
    let needs_blocks = output.needs_bypass() || !runs.iter().all(Run::is_in_memory);
    let blocks = bypass.filter(|_| needs_blocks);
    let target = target_of(job, output, blocks, expected_bytes, &prefix)?;
    job.balance.written(merged.hash_sum);
    job.observer.advance(prefix.bytes);
    let start = MergeStart { positions, lines: merged.lines };
    let mut output = MergedOutput::new(target, prefix, merged, job.journal);
    output.write(missing_head, Some(crc32fast::hash(missing_head)), 0)?;
    Ok((start, output))
}
