//! The reading thread of phase one: it fills areas, gives chunks to workers, and decides when to
//! merge chunks to runs.
//!
//! Nothing is spilled as long as all lines may fit. From then on, sorted chunks become a run
//! whenever they have more than half of the memory. So some threads write while others sort and
//! this one reads.
//!
//! The size of runs depends on their number. A merge of few runs costs no more than one of very
//! few, and merging chunks first costs more than writing each as it is. So the first runs are
//! single chunks, and each run is larger than the one before it, up to half of the memory.
//!
//! If the input looks sorted, chunks that come in order go to the output instead of scratch; see
//! [`InOrder`].

use super::super::areas::Areas;
use super::super::block::SpilledBlock;
use super::super::chunk::{Chunk, Layout};
use super::super::input::too_long;
use super::super::job::LinesJob;
use super::super::line_limits::{ample_working_blocks, line_bytes_max};
use super::super::options::LinesOptions;
use super::super::plan::Plan;
use super::super::run::Run;
use super::fill::{ChunkReader, Divided, Filled, Filling};
use super::group::ChunkGroup;
use super::in_order::InOrder;
use super::spilling::{SortedChunks, Spill};
use super::summary::ChunkSummary;
use super::worker::{FormOutcome, FormTask, FormWorker, SpilledPart};
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crate::store::journal::Step;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::collections::{BTreeMap, VecDeque};
use xsort_disk::Lease;

/// Parts of a run per thread, so that all threads finish at about the same time.
const PARTS_PER_THREAD: usize = 2;
/// From this number of runs on, runs have the largest size. A merge's memory has some 500 blocks or
/// more.
const RUNS_UNTIL_LARGEST: usize = 64;

/// Queues of tasks for other threads.
pub(crate) struct FormTasks {
    pub(crate) sorts: Sender<FormTask>,
    pub(crate) spills: Sender<FormTask>,
}

impl FormTasks {
    fn send(&self, task: FormTask) {
        let to = match task {
            FormTask::Prefault(_) | FormTask::Sort(..) => &self.sorts,
            FormTask::Spill(..) => &self.spills,
        };
        to.send(task).expect("workers live as long as the scope");
    }
}

/// The workers: other threads, or this thread if there are none.
pub(crate) struct FormWorkers<'a, 'j, 'w> {
    pub(crate) worker: &'w FormWorker<'a, 'j>,
    /// Queues of tasks for other threads; `None` without any.
    pub(crate) tasks: Option<FormTasks>,
    pub(crate) outcomes: Receiver<Result<FormOutcome, Error>>,
}

/// The reading thread's state.
pub(crate) struct Former<'a, 'j, 'w> {
    job: &'j LinesJob<'a>,
    workers: FormWorkers<'a, 'j, 'w>,
    reader: ChunkReader<'a, 'j>,
    free: Areas,
    /// An area with the beginning of a long line.
    next: Option<Filling>,
    sorted: SortedChunks,
    /// Runs that are being spilled.
    spills: VecDeque<Spill>,
    /// Runs on scratch, in the order of the input.
    spilled: Vec<Run>,
    /// What is in the output already, if lines that come in order go there.
    in_order: Option<InOrder<'j>>,
    /// Summaries of sorted chunks for the journal, by chunk number, if there is a journal.
    summaries: BTreeMap<usize, ChunkSummary>,
    /// Number of tasks in flight.
    working: usize,
    chunks: usize,
    lines: u64,
    bytes: u64,
    /// Bytes of text that this process has read; the next field has the memory that its chunks
    /// needed.
    text_bytes: u64,
    chunk_bytes: u64,
}

/// The result of phase one.
pub(crate) struct Formed {
    /// The runs, in the order of the input.
    pub(crate) runs: Vec<Run>,
    pub(crate) free: Areas,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

impl<'a, 'j, 'w> Former<'a, 'j, 'w> {
    pub(crate) fn new(
        job: &'j LinesJob<'a>,
        workers: FormWorkers<'a, 'j, 'w>,
        reader: ChunkReader<'a, 'j>,
        free: Areas,
    ) -> Self {
        let in_order = workers.worker.has_output().then(|| InOrder::new(job));
        Former {
            job,
            workers,
            reader,
            free,
            next: None,
            sorted: SortedChunks::default(),
            spills: VecDeque::new(),
            spilled: Vec::new(),
            in_order,
            summaries: BTreeMap::new(),
            working: 0,
            chunks: 0,
            lines: 0,
            bytes: 0,
            text_bytes: 0,
            chunk_bytes: 0,
        }
    }

    /// Takes over the runs that an earlier process has formed. Returns true if these are all.
    pub(crate) fn replay(&mut self) -> Result<bool, Error> {
        let journal = self.job.journal;
        loop {
            let step = Step::Chunk(self.chunks as u64);
            let Some((summary, blocks)) =
                journal.replay::<(ChunkSummary, Vec<SpilledBlock>)>(step)?
            else {
                break;
            };
            self.job.claim(step, &blocks)?;
            self.lines += summary.lines;
            self.bytes += summary.bytes;
            self.job.balance.read(summary.read_sum);
            self.job.balance.dropped(summary.dropped_sum);
            self.job.observer.advance(summary.bytes);
            self.spilled.push(Run::OnScratch(blocks));
            self.chunks += 1;
        }
        journal.refuse_more_chunks()?;
        self.sorted = SortedChunks::from(self.chunks);
        if journal.replay::<()>(Step::InputRead)?.is_some() {
            return Ok(true);
        }
        self.reader.skip(self.bytes)?;
        Ok(false)
    }

    /// Forms runs of all remaining lines.
    pub(crate) fn read_all(&mut self) -> Result<(), Error> {
        while let Some(chunk) = self.next_chunk()? {
            let bytes = chunk.text_bytes() as u64;
            self.lines += chunk.lines() as u64;
            self.bytes += bytes;
            self.text_bytes += bytes;
            self.chunk_bytes += chunk.needed_bytes() as u64;
            self.job.observer.advance(bytes);
            self.start(FormTask::Sort(self.chunks, chunk))?;
            self.chunks += 1;
            if self.reader.is_over() && self.next.is_none() {
                break;
            }
        }
        self.wait_for_all()?;
        self.spill_for_blocks()?;
        match &mut self.in_order {
            Some(in_order) => in_order.check(self.sorted.iter()),
            None => Ok(()),
        }
    }

    /// Spills all chunks, so that a later process finds them and doesn't need the inputs.
    pub(crate) fn spill_all(&mut self) -> Result<(), Error> {
        while !self.sorted.is_empty() {
            self.start_run(self.largest_run_bytes())?;
            self.wait_for_all()?;
        }
        Ok(())
    }

    /// Returns the runs and the free memory, after all work has ended.
    pub(crate) fn end(self) -> Formed {
        let Former { sorted, spilled: mut runs, free, lines, bytes, .. } = self;
        runs.extend(sorted.into_chunks().map(|(_, chunk)| Run::InMemory(chunk)));
        Formed { runs, free, lines, bytes }
    }

    /// Reads the next chunk; `None` if there are no more lines.
    fn next_chunk(&mut self) -> Result<Option<Chunk>, Error> {
        let mut filling = match self.next.take() {
            Some(filling) => filling,
            None => {
                let area = self.area()?;
                self.prefault(&area);
                Filling { area, text_bytes: 0 }
            }
        };
        loop {
            match self.reader.fill(&mut filling, self.bytes)? {
                Filled::Lines { lines, bytes } => {
                    let Divided { chunk, rest, next } = self.reader.divide(filling, lines, bytes);
                    rest.into_iter().for_each(|rest| self.free.give(rest));
                    self.next = next;
                    return Ok(Some(chunk));
                }
                Filled::PartOfLine => filling.area = self.grow(filling.area, filling.text_bytes)?,
                Filled::Nothing => {
                    self.free.give(filling.area);
                    return Ok(None);
                }
            }
        }
    }

    /// Returns an area to read into. It may have to spill a run for it.
    fn area(&mut self) -> Result<Lease, Error> {
        loop {
            while let Ok(outcome) = self.workers.outcomes.try_recv() {
                self.take_outcome(outcome)?;
            }
            if let Some(bytes) = self.wanted_run_bytes() {
                self.start_run(bytes)?;
            }
            if let Some(area) = self.free.take() {
                return Ok(area);
            }
            // Without other threads, the run is spilled already.
            if self.working > 0 {
                let job = self.job;
                job.gauges.stage_times.read_waits_for_areas.time(|| self.wait())?;
            }
        }
    }

    /// Bytes of the chunks that should become a run now, if any should.
    fn wanted_run_bytes(&self) -> Option<usize> {
        let areas = self.free.count();
        let half = self.job.plan.areas * self.job.plan.area_bytes / 2;
        let spilling: usize = self.spills.iter().map(|spill| spill.memory_bytes).sum();
        let free = self.free.sizes().sum::<usize>() + spilling;
        // Without other threads, nothing is read during a spill.
        let has_written = self.in_order.as_ref().is_some_and(InOrder::has_written);
        let has_begun = (has_written || !self.spilled.is_empty()) && self.job.plan.threads > 1;
        if areas > 1 && !(has_begun && free < half) {
            return None;
        }
        let missing = self.needed_bytes().saturating_sub(free);
        if missing == 0 && areas > 0 {
            return None;
        }
        let wanted = self.run_bytes().min(missing).max(1);
        let is_ready = self.sorted.ready_bytes() >= wanted || areas == 0 && self.working == 0;
        (is_ready && (spilling == 0 || spilling + wanted <= half)).then_some(wanted)
    }

    /// Bytes of memory of the chunks that become the next run. The size grows with the number of
    /// runs.
    fn run_bytes(&self) -> usize {
        let most = self.largest_run_bytes();
        let runs = self.spilled.len() + self.spills.len();
        (most / RUNS_UNTIL_LARGEST * runs).clamp(1, most)
    }

    /// Most bytes of memory of a run's chunks: half of the memory, since the other half is read
    /// into and sorted. All of it without other threads.
    fn largest_run_bytes(&self) -> usize {
        let Plan { areas, area_bytes, threads, .. } = self.job.plan;
        if threads == 1 { areas * area_bytes } else { areas / 2 * area_bytes }
    }

    /// Bytes of memory for all lines still to be read and for the blocks of a merge. Assumes that
    /// these lines need as much memory as the lines before.
    fn needed_bytes(&self) -> usize {
        let Some(remaining) = self.reader.remaining else { return usize::MAX };
        // Until something was read, the text's own size.
        let share = (1 + self.chunk_bytes) as f64 / (1 + self.text_bytes) as f64;
        let needed = remaining as f64 * share;
        // The unused ends of full areas are less than one area in all.
        let unused = self.job.plan.area_bytes / 2;
        (needed as usize).saturating_add(unused + self.block_bytes())
    }

    /// Bytes of blocks that a merge of all runs needs beyond the sort buffers, if some runs are on
    /// scratch.
    fn block_bytes(&self) -> usize {
        let plan = &self.job.plan;
        let blocks = self.spilled.len() + 2 + ample_working_blocks(plan);
        (blocks * plan.block_bytes).saturating_sub(plan.threads * plan.sort_buffer_bytes)
    }

    /// Frees memory for the blocks of runs on scratch, on all threads. A merge needs more if lines
    /// are long.
    fn spill_for_blocks(&mut self) -> Result<(), Error> {
        if self.spilled.is_empty() {
            return Ok(());
        }
        let missing = self.block_bytes().saturating_sub(self.free.sizes().sum());
        if missing > 0 && !self.sorted.is_empty() {
            self.start_run(missing)?;
        }
        self.wait_for_all()
    }

    /// Returns a larger area with the beginning of a line moved into it. For a line of the greatest
    /// length, all runs are spilled.
    fn grow(&mut self, mut area: Lease, text_bytes: usize) -> Result<Lease, Error> {
        let plan = &self.job.plan;
        let longest = line_bytes_max(plan);
        if text_bytes > longest {
            let options = self.job.options;
            let line_bytes_max = |budget_bytes| {
                let options = LinesOptions { budget_bytes, ..options.clone() };
                line_bytes_max(&Plan::new(&options, None, plan.entry_bytes, plan.has_bypass()))
            };
            let begun = text_bytes as u64;
            return Err(too_long(&mut self.reader.reader, begun, options, line_bytes_max));
        }
        let wanted = Layout::Entries(plan.entry_bytes)
            .area_bytes(longest, 1)
            .min((2 * area.len()).max(plan.area_bytes))
            .min(plan.areas * plan.area_bytes);
        loop {
            area = match self.free.grow(area, text_bytes, wanted) {
                Ok(larger) => return Ok(larger),
                Err(area) => area,
            };
            if self.spills.is_empty() {
                self.start_run(wanted)?;
            }
            if self.working > 0 {
                self.wait()?;
            }
        }
    }

    /// Begins to spill the oldest chunks as a run, about `bytes` bytes of memory, if the oldest is
    /// sorted.
    fn start_run(&mut self, bytes: usize) -> Result<(), Error> {
        let (first, chunks) = self.sorted.take(bytes);
        if chunks.is_empty() {
            return Ok(());
        }
        let threads = self.job.plan.threads;
        let parts = if threads == 1 { 1 } else { PARTS_PER_THREAD * threads };
        let group = ChunkGroup::new(self.job.order, self.job.options.delimiter, chunks, parts);
        let first_segment = match &mut self.in_order {
            Some(in_order) => in_order.take(&group, self.sorted.iter())?,
            None => None,
        };
        let spill = Spill::new(first, group, first_segment);
        let tasks = spill.tasks();
        self.spills.push_back(spill);
        tasks.into_iter().try_for_each(|task| self.start(task))
    }

    /// Takes a finished part of a run, and all runs that are complete. Runs are taken in the order
    /// of the input, because the journal counts them.
    fn finish_part(&mut self, part: SpilledPart) {
        let spill = self.spills.iter_mut().find(|spill| spill.first == part.run);
        let spill = spill.expect("it is there until all of its parts are done");
        let is_memory_reused = self.job.is_memory_reused();
        for chunk in spill.finish(part).unwrap_or_default() {
            let mut area = chunk.into_area();
            if is_memory_reused {
                area.renew();
            }
            self.free.give(area);
        }
        while self.spills.front().is_some_and(Spill::is_done)
            && let Some(spill) = self.spills.pop_front()
        {
            if spill.first_segment.is_none() {
                self.finish_run(spill);
            }
        }
    }

    /// Takes a run that is on scratch, and records it.
    fn finish_run(&mut self, spill: Spill) {
        let Spill { first, count, dropped_sum, .. } = spill;
        let blocks = spill.into_blocks();
        if self.job.journal.is_recording() {
            let of_chunks = (first..first + count).filter_map(|at| self.summaries.remove(&at));
            let merged = ChunkSummary { dropped_sum, ..ChunkSummary::default() };
            let summary = of_chunks.fold(merged, ChunkSummary::and);
            let step = Step::Chunk(self.spilled.len() as u64);
            self.job.journal.record(step, &(summary, &blocks));
        }
        self.spilled.push(Run::OnScratch(blocks));
    }

    fn start(&mut self, task: FormTask) -> Result<(), Error> {
        self.working += 1;
        if let Some(tasks) = &self.workers.tasks {
            tasks.send(task);
            return Ok(());
        }
        match self.workers.worker.work(task) {
            Some(outcome) => self.take_outcome(outcome),
            None => Ok(()),
        }
    }

    /// Lets idle threads touch the memory of an area while this one reads into it.
    fn prefault(&self, area: &Lease) {
        if let Some(tasks) = &self.workers.tasks
            && let Some(bytes) = self.reader.expected_bytes(self.bytes)
        {
            for prefault in area.prefault(0..bytes.min(area.len())) {
                tasks.send(FormTask::Prefault(prefault));
            }
        }
    }

    fn wait_for_all(&mut self) -> Result<(), Error> {
        while self.working > 0 {
            self.wait()?;
        }
        Ok(())
    }

    /// Waits until a task is done.
    fn wait(&mut self) -> Result<(), Error> {
        loop {
            if self.job.should_stop() {
                self.job.failure.check()?;
            }
            match self.workers.outcomes.recv_timeout(STOP_INTERVAL) {
                Ok(outcome) => return self.take_outcome(outcome),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the caller holds a sender"),
            }
        }
    }

    fn take_outcome(&mut self, outcome: Result<FormOutcome, Error>) -> Result<(), Error> {
        self.working -= 1;
        match outcome? {
            FormOutcome::Sorted(number, chunk, sums, rest) => {
                if self.job.journal.is_recording() {
                    self.summaries.insert(number, ChunkSummary::new(&chunk, sums));
                }
                self.sorted.insert(number, chunk);
                self.free.give(rest);
            }
            FormOutcome::Spilled(part) => self.finish_part(part),
        }
        Ok(())
    }
}
