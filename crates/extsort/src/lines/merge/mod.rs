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
use super::form::FormedRuns;
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
use sink::{MergedOutput, OutputProgress, OutputTarget, Sink};
use std::time::Instant;

/// Merges all runs into the output. Returns the report, and the length and checksum of the output.
pub(super) fn merge_all(
    job: &LinesJob<'_>,
    begun: Instant,
    formed: FormedRuns,
    output: LinesOutput<'_>,
) -> Result<(LinesReport, OutputPrefix), Error> {
    let FormedRuns { runs, memory, lines, bytes, expected_bytes, .. } = formed;
    let totals = FormTotals { lines, bytes, runs: runs.len() };
    // Lines of sorted inputs are only counted.
    let is_checked = !runs.iter().any(Run::is_sorted_input);
    let output = merge_to_output(job, runs, memory, expected_bytes, output)?;
    Ok((LinesReport::new(job, totals, is_checked, output.bytes, begun)?, output))
}

fn merge_to_output(
    job: &LinesJob<'_>,
    runs: Vec<Run>,
    memory: LinesMemory,
    expected_bytes: u64,
    output: LinesOutput<'_>,
) -> Result<OutputPrefix, Error> {
    let LinesMemory { areas, mut write_buffers, bypass, .. } = memory;
    let (runs, areas) = passes::reduce(job, runs, Areas::new(areas), &mut write_buffers)?;
    job.observer.phase("merge", expected_bytes);
    let progress: OutputProgress = job.journal.replay(Step::Written)?.unwrap_or_default();
    progress.check(&runs).map_err(|detail| job.journal.refuse(Step::Written, &detail))?;
    let OutputProgress { prefix, positions, merged } = progress;
    let head = job.form.map_or(&[][..], |form| form.head);
    let missing_head = if prefix.bytes == 0 { head } else { &[] };
    let target = match (output, bypass) {
        (LinesOutput::Unpublished(file), blocks) => {
            let blocks = blocks.expect("the plan has blocks for such an output");
            let write = WriteBehind::resume(job.disk, file, blocks, expected_bytes, &prefix)?;
            OutputTarget::File(write)
        }
        (LinesOutput::Stream(stream), Some(blocks)) if !runs.iter().all(Run::is_in_memory) => {
            OutputTarget::open(job, stream, blocks, expected_bytes)?
        }
        (LinesOutput::Stream(stream), _) => OutputTarget::Stream(stream),
    };
    job.balance.written(merged.hash_sum);
    job.observer.advance(prefix.bytes);
    let start = MergeStart { positions, lines: merged.lines };
    let mut output = MergedOutput::new(target, prefix, merged, job.journal);
    output.write(missing_head, Some(crc32fast::hash(missing_head)), 0)?;
    let (output, _) = threads::merge_runs(job, &runs, &start, areas, &mut write_buffers, output)?;
    output.end()
}
