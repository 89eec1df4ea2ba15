//! State that all threads of a sort of lines share.

use super::balance::Balance;
use super::block::SpilledBlock;
use super::options::LinesOptions;
use super::plan::Plan;
use crate::job::failure::Failure;
use crate::job::process::process_cpu_time;
use crate::store::compression::{Effort, Load};
use crate::store::journal::{JournalHandle, Step};
use crate::store::scratch::Scratch;
use crate::{Error, Gauges, JobInfo, Observer};
use parking_lot::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use xsort_disk::Disk;
use xsort_kernels::lines::{LineKernels, PutLine};

/// Writes the lines of a segment in order. [`PutLine`] writes a line that fits in the output
/// buffer.
pub trait SegmentForm: PutLine {
    /// Writes one piece of a line longer than the output buffer. The last piece includes the
    /// delimiter. The piece is the first `piece_bytes` bytes of `out`, which has [`PIECE_ROOM`]
    /// more, and is changed in place. Returns the number of bytes written.
    fn put_piece(&mut self, out: &mut [u8], piece_bytes: usize) -> usize;
}

/// Most bytes by which a piece of a line may grow.
pub const PIECE_ROOM: usize = 256;

/// Creates the form of each segment.
pub type SegmentForms<'f> = dyn Fn() -> Box<dyn SegmentForm> + Sync + 'f;

/// Returns two checksums: of the lines read and of the lines written.
pub type LineSums<'f> = dyn Fn() -> [u64; 2] + Sync + 'f;

/// The form of an output that isn't just sorted lines.
#[derive(Clone, Copy)]
pub struct OutputForm<'f> {
    /// Bytes before all lines.
    pub head: &'f [u8],
    /// Creates the writers of segments.
    pub segment: &'f SegmentForms<'f>,
    /// Checksums of the lines read and written, if the caller computes them. When set, the engine
    /// does not hash lines. `None` with `-u` and with a checkpoint, where the caller cannot know
    /// them.
    pub sums: Option<&'f LineSums<'f>>,
}

/// A running sort or merge of lines.
pub(super) struct LinesJob<'a> {
    pub(super) order: &'a dyn LineKernels,
    pub(super) options: &'a LinesOptions,
    pub(super) plan: Plan,
    pub(super) disk: &'a dyn Disk,
    /// Created when the first block is spilled.
    scratch: OnceLock<Scratch<'a>>,
    creating_scratch: Mutex<()>,
    pub(super) observer: &'a dyn Observer,
    begun: Instant,
    pub(super) gauges: Gauges,
    pub(super) failure: Failure,
    /// Decides how blocks are compressed.
    pub(super) effort: Effort,
    /// Bytes read into areas.
    pub(super) read_bytes: AtomicU64,
    /// Blocks on scratch that are in an index.
    pub(super) indexed_blocks: AtomicU64,
    pub(super) balance: Balance,
    /// Lines and bytes read from sorted inputs.
    pub(super) sorted_lines: AtomicU64,
    pub(super) sorted_bytes: AtomicU64,
    /// Bytes of all sorted inputs, if known.
    pub(super) merged_bytes: Option<u64>,
    /// True if sorted inputs are checked while they are merged: their order, and the sum of their
    /// lines' hashes.
    pub(super) checks_inputs: bool,
    /// The journal of finished steps, with a checkpoint.
    pub(super) journal: JournalHandle<'a>,
    /// The form of an output that isn't just sorted lines.
    pub(super) form: Option<OutputForm<'a>>,
}

impl<'a> LinesJob<'a> {
    /// Creates a job without a checkpoint.
    pub(super) fn new(
        order: &'a dyn LineKernels,
        options: &'a LinesOptions,
        plan: Plan,
        disk: &'a dyn Disk,
        observer: &'a dyn Observer,
    ) -> Self {
        let frame = JobInfo {
            record_bytes: None,
            budget_bytes: options.budget_bytes,
            threads: plan.threads,
            chunks: None,
        };
        let gauges = Gauges::new(frame, observer.spans());
        observer.show(gauges.clone());
        let effort = Effort::new(options.codec, plan.threads);
        LinesJob {
            order,
            options,
            plan,
            disk,
            scratch: OnceLock::new(),
            creating_scratch: Mutex::new(()),
            observer,
            begun: Instant::now(),
            gauges,
            failure: Failure::default(),
            effort,
            read_bytes: AtomicU64::new(0),
            indexed_blocks: AtomicU64::new(0),
            balance: Balance::default(),
            sorted_lines: AtomicU64::new(0),
            sorted_bytes: AtomicU64::new(0),
            merged_bytes: None,
            checks_inputs: false,
            journal: JournalHandle(None),
            form: None,
        }
    }

    /// True once more data was read than twice the memory, so that all memory is used again and
    /// again. For a stream this isn't known in advance.
    pub(super) fn is_memory_reused(&self) -> bool {
        self.read_bytes.load(Relaxed) > 2 * self.plan.pool_bytes() as u64
    }

    /// Sets the scratch that a checkpoint has opened.
    pub(super) fn with_scratch(self, scratch: Scratch<'a>) -> Self {
        LinesJob { scratch: OnceLock::from(scratch), ..self }
    }

    /// Sets the form of the output.
    pub(super) fn with_form(self, form: Option<OutputForm<'a>>) -> Self {
        LinesJob { form, ..self }
    }

    /// Returns the scratch, which the first call creates.
    pub(super) fn scratch(&self) -> Result<&Scratch<'a>, Error> {
        if let Some(scratch) = self.scratch.get() {
            return Ok(scratch);
        }
        let _creating = self.creating_scratch.lock();
        if let Some(scratch) = self.scratch.get() {
            return Ok(scratch);
        }
        let scratch = Scratch::create(
            self.disk,
            &self.options.scratch,
            Scratch::UNKNOWN_BYTES,
            Arc::clone(&self.gauges.scratch),
        )?;
        Ok(self.scratch.get_or_init(|| scratch))
    }

    /// Resets the counts of data read, because it is read once more.
    pub(super) fn forget_read(&self) {
        self.balance.forget();
        self.read_bytes.store(0, Relaxed);
        self.gauges.counts.chunks.store(0, Relaxed);
    }

    /// True if the engine hashes lines.
    pub(super) fn needs_hashes(&self) -> bool {
        self.form.is_none_or(|form| form.sums.is_none())
    }

    /// Checks that no line is lost or changed, when all threads are done. Returns the checksum of
    /// all lines.
    ///
    /// # Errors
    ///
    /// [`Error::LostLines`] if the checksums differ.
    pub(super) fn check_sums(&self) -> Result<u64, Error> {
        let sums = self.form.and_then(|form| form.sums);
        let [read, written] = sums.map_or_else(|| self.balance.sums(), |sums| sums());
        if read == written { Ok(read) } else { Err(Error::LostLines { read, written }) }
    }

    /// Takes over blocks that an earlier process has left on scratch, by its journal.
    pub(super) fn claim(&self, step: Step, blocks: &[SpilledBlock]) -> Result<(), Error> {
        let scratch = self.scratch()?;
        let claim = |block: &SpilledBlock| {
            block.check()?;
            scratch.claim(block.address, block.paged_bytes())
        };
        let claimed = blocks.iter().try_for_each(claim);
        claimed.map_err(|detail| self.journal.refuse(step, &detail))?;
        self.indexed_blocks.fetch_add(blocks.len() as u64, Relaxed);
        Ok(())
    }

    /// The progress and load so far.
    pub(super) fn load(&self) -> Load {
        let times = &self.gauges.stage_times;
        let spilled_bytes = self.gauges.spilled.bytes.load(Relaxed) as f64;
        Load {
            clock: self.begun.elapsed().as_secs_f64(),
            blocked: times.spill_waits_for_write.seconds_now(),
            idle: times.work_waits_for_read.seconds_now()
                + times.merge_waits_for_read.seconds_now(),
            processor: process_cpu_time().as_secs_f64(),
            spilled_bytes,
            progress_bytes: spilled_bytes + self.read_bytes.load(Relaxed) as f64,
        }
    }

    /// True if the job was cancelled or has failed.
    pub(super) fn should_stop(&self) -> bool {
        if self.observer.is_cancelled() {
            self.failure.set(Error::Cancelled);
        }
        self.failure.is_set()
    }
}
