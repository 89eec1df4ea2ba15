//! Sorting lines of text: records of varying length, from files or streams whose size may be
//! unknown.
//!
//! ```text
//!  inputs --> areas of memory --> sorted runs --(only when memory is needed)--> scratch
//!                                      \                                          /
//!                                       `--------------> merge <-----------------'
//!                                                          |
//!                                              segments, in turn --> output
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `options`, `report` | what is asked for, and what was done |
//! | `plan` | how the budget is divided |
//! | `ahead`, `behind` | files read and written past the page cache |
//! | `areas` | memory for chunks, split and joined as they need it |
//! | `chunk` | lines in memory: text from the front of an area, entries behind it |
//! | `stream` | a source that is in order already |
//! | `input` | bytes of several sources, line by line whole |
//! | `too_long` | a line that the budget has no room for |
//! | `form` | phase one: read, sort, keep as long as there is memory |
//! | `spill` | a run on its way to scratch, in blocks of whole lines |
//! | `codec` | blocks made smaller on that way, and back |
//! | `run` | a sorted run, in memory or on scratch |
//! | `block pools` | the memory of a merge, in blocks of two sizes |
//! | `read` | which blocks to bring back, and when |
//! | `cut` | where a merge can be cut into segments |
//! | `merge` | phase two: hand out segments until all is merged |
//! | `balance` | what was read must have been written or dropped |
//! | `resumable` | a sort that a later process can go on with |
//! | `turn` | writers take turns, in the order of the output |
//! | `heads` | the plain merge, of little and of what may not be in order |

mod areas;
mod balance;
mod chunk;
mod codec;
mod cut;
mod form;
mod input;
mod merge;
mod merge_memory;
mod merge_sequential;
mod options;
mod ordered_writer;
mod plan;
mod read;
mod report;
mod resumable;
mod run;
mod spill;
mod stream;
mod too_long;

pub use codec::Codec;
pub use input::Source;
pub use merge_sequential::{merge_sequential, sequential_inputs_max};
pub use options::{LinesCheckpoint, LinesOptions};
pub use report::LinesReport;
pub use xsort_kernels::lines::{ByBytes, ByBytesReversed, LineOrder, Words};

use crate::job::failure::Failure;
use crate::store::journal::JournalHandle;
use crate::store::output_prefix::OutputPrefix;
use crate::store::scratch::Scratch;
use crate::{Error, Gauges, JobInfo, Observer};
use balance::Balance;
use form::Formed;
use plan::Plan;
use run::Run;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;
use stream::Stream;
use xsort_disk::{Disk, FileId};
use xsort_kernels::lines::Entry;

/// What all threads of a sort of lines share.
struct Job<'a, O> {
    order: &'a O,
    options: &'a LinesOptions,
    plan: Plan,
    disk: &'a dyn Disk,
    /// Made when something has to go there.
    scratch: OnceLock<Scratch<'a>>,
    making_scratch: Mutex<()>,
    observer: &'a dyn Observer,
    gauges: Gauges,
    failure: Failure,
    spilled_bytes: AtomicU64,
    scratch_bytes: AtomicU64,
    /// Blocks on scratch that are in an index.
    indexed_blocks: AtomicU64,
    balance: Balance,
    /// Lines and bytes read from sorted sources.
    source_lines: AtomicU64,
    source_bytes: AtomicU64,
    /// Of what is finished.
    notes: JournalHandle<'a>,
    /// Where the output goes if it is kept.
    kept_output: Option<FileId>,
    /// Whether the inputs are still what they were, to be asked before it is recorded that they
    /// have been read.
    input_is_read: Option<&'a (dyn Fn() -> Result<(), Error> + Sync)>,
}

impl<'a, O: LineOrder> Job<'a, O> {
    fn new(
        order: &'a O,
        options: &'a LinesOptions,
        plan: Plan,
        disk: &'a dyn Disk,
        observer: &'a dyn Observer,
    ) -> Self {
        let gauges = Gauges::new(JobInfo {
            record_bytes: None,
            budget_bytes: options.budget_bytes,
            threads: plan.threads,
            chunks: None,
        });
        observer.show(gauges.clone());
        Job {
            order,
            options,
            plan,
            disk,
            scratch: OnceLock::new(),
            making_scratch: Mutex::new(()),
            observer,
            gauges,
            failure: Failure::default(),
            spilled_bytes: AtomicU64::new(0),
            scratch_bytes: AtomicU64::new(0),
            indexed_blocks: AtomicU64::new(0),
            balance: Balance::default(),
            source_lines: AtomicU64::new(0),
            source_bytes: AtomicU64::new(0),
            notes: JournalHandle(None),
            kept_output: None,
            input_is_read: None,
        }
    }

    /// Merges what was formed. Returns what the output is, too.
    fn finish(
        &self,
        begun: Instant,
        formed: Formed,
        output: &mut (dyn Write + Send),
    ) -> Result<(LinesReport, OutputPrefix), Error> {
        let (lines, bytes, runs) = (formed.lines, formed.bytes, formed.runs.len());
        let has_sources = formed.runs.iter().any(|run| matches!(run, Run::Sorted(_)));
        let whole = merge::merge_all(self, formed, output)?;
        // Lines of sorted sources are only counted.
        let checksum = if has_sources { None } else { Some(self.balance.close()?) };
        let report = LinesReport {
            lines: lines + self.source_lines.load(Relaxed),
            bytes: bytes + self.source_bytes.load(Relaxed),
            written_bytes: whole.bytes,
            checksum,
            runs,
            spilled_bytes: self.spilled_bytes.load(Relaxed),
            scratch_bytes: self.scratch_bytes.load(Relaxed),
            seconds: begun.elapsed().as_secs_f64(),
            plan: self.plan.clone(),
        };
        Ok((report, whole))
    }

    fn scratch(&self) -> Result<&Scratch<'a>, Error> {
        if let Some(scratch) = self.scratch.get() {
            return Ok(scratch);
        }
        let _one = self.making_scratch.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(scratch) = self.scratch.get() {
            return Ok(scratch);
        }
        let scratch = Scratch::create(
            self.disk,
            &self.options.scratch,
            u64::MAX,
            Arc::clone(&self.gauges.scratch),
        )?;
        Ok(self.scratch.get_or_init(|| scratch))
    }

    fn should_stop(&self) -> bool {
        if self.observer.is_cancelled() {
            self.failure.set(Error::Cancelled);
        }
        self.failure.is_set()
    }
}

/// Sorts all lines of `sources`, and writes them to `output`.
///
/// # Errors
/// If a source, the output or scratch fails, or if a line is too long for the budget.
pub fn sort_lines<O: LineOrder>(
    options: &LinesOptions,
    order: &O,
    sources: Vec<Source>,
    output: &mut (dyn Write + Send),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    if let Some(checkpoint) = &options.checkpoint {
        return resumable::sort(options, checkpoint, order, sources, disk, observer);
    }
    let begun = Instant::now();
    let bytes = bytes(&sources);
    let plan = Plan::new(options, bytes, size_of::<Entry<O::Words>>());
    plan.refuse_index(options, bytes)?;
    let memory = plan.memory(bytes.is_some_and(|bytes| bytes >= options.budget_bytes))?;
    let job = Job::new(order, options, plan, disk, observer);
    if let Some(bytes) = bytes {
        observer.expect(&[("form runs", bytes), ("merge", bytes)]);
    }
    observer.phase("form runs", bytes.unwrap_or(0));
    let formed = form::form(&job, sources, memory)?;
    Ok(job.finish(begun, formed, output)?.0)
}

/// Merges `sources`, the lines of each of which are in order, and writes them to `output`. Lines
/// that compare equal come in the order of the sources. If a source is not in order, all of its
/// lines are written all the same, in some order.
///
/// # Errors
/// As [`sort_lines`].
pub fn merge_lines<O: LineOrder>(
    options: &LinesOptions,
    order: &O,
    sources: Vec<Source>,
    output: &mut (dyn Write + Send),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let begun = Instant::now();
    let bytes = bytes(&sources).unwrap_or(0);
    let plan = Plan::of_merge(options, sources.len());
    let memory = plan.memory(true)?;
    let job = Job::new(order, options, plan, disk, observer);
    let sorted = |source| Run::Sorted(Box::new(Mutex::new(Stream::new(source, options.delimiter))));
    let runs = sources.into_iter().map(sorted).collect();
    let formed = Formed { runs, memory, lines: 0, bytes: 0, expected_bytes: bytes };
    Ok(job.finish(begun, formed, output)?.0)
}

/// Bytes of all sources together, if that is known.
fn bytes(sources: &[Source]) -> Option<u64> {
    sources.iter().map(|source| source.bytes).sum()
}
