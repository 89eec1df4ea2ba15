//! The reading thread of phase one: it fills areas, gives chunks to workers, and decides when runs
//! are made of them.
//!
//! Nothing is spilled as long as all may fit. From then on runs are made of what is sorted whenever
//! it has more than half of the memory, so that threads write while others sort and this one reads.
//!
//! How large runs are depends on how many there are. A merge of few runs is no dearer than one of
//! very few, and merging chunks before costs more than writing each as it is. So the first runs are
//! single chunks, and each run is larger than the one before it, up to half of the memory.

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
use super::spilling::{SortedChunks, Spill};
use super::summary::ChunkSummary;
use super::worker::{FormOutcome, FormTask, FormWorker, SpilledPart};
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crate::store::journal::Step;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::collections::{BTreeMap, VecDeque};
use xsort_disk::Lease;

/// Parts of a run for each thread, so that all are done at about the same time.
const PARTS_PER_THREAD: usize = 2;
/// From so many runs on they are as large as they can be. A merge's memory has some 500 blocks or
/// more.
const RUNS_UNTIL_LARGEST: usize = 64;

/// Where tasks for other threads go.
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

/// Does tasks: other threads, or this one if there are none.
pub(crate) struct FormWorkers<'a, 'j, 'w> {
    pub(crate) worker: &'w FormWorker<'a, 'j>,
    /// Tasks for other threads.
    pub(crate) tasks: Option<FormTasks>,
    pub(crate) outcomes: Receiver<Result<FormOutcome, Error>>,
}

/// Forms runs.
pub(crate) struct Former<'a, 'j, 'w> {
    job: &'j LinesJob<'a>,
    workers: FormWorkers<'a, 'j, 'w>,
    reader: ChunkReader<'a, 'j>,
    free: Areas,
    /// An area with the beginning of a long line.
    next: Option<Filling>,
    sorted: SortedChunks,
    /// Runs that are being made.
    spills: VecDeque<Spill>,
    /// Runs on scratch, in the order of the input.
    spilled: Vec<Run>,
    /// What the journal will say of sorted chunks, by their numbers, if there is one.
    summaries: BTreeMap<usize, ChunkSummary>,
    /// Tasks under way.
    working: usize,
    chunks: usize,
    lines: u64,
    bytes: u64,
    /// Of the chunks that this process has read, and of the memory that they needed.
    text_bytes: u64,
    chunk_bytes: u64,
}

/// What a former has made.
pub(crate) struct Formed {
    /// In the order of the input.
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
        Former {
            job,
            workers,
            reader,
            free,
            next: None,
            sorted: SortedChunks::default(),
            spills: VecDeque::new(),
            spilled: Vec::new(),
            summaries: BTreeMap::new(),
            working: 0,
            chunks: 0,
            lines: 0,
            bytes: 0,
            text_bytes: 0,
            chunk_bytes: 0,
        }
    }

    /// Takes over the runs that an earlier process has formed of the first lines. Returns whether
    /// these were all.
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

    /// Forms runs of all lines that are left.
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
        self.spill_for_blocks()
    }

    /// Spills all chunks, so that a later process finds them and nobody needs the inputs.
    pub(crate) fn spill_all(&mut self) -> Result<(), Error> {
        while !self.sorted.is_empty() {
            self.start_run(self.largest_run_bytes())?;
            self.wait_for_all()?;
        }
        Ok(())
    }

    /// Ends the work of other threads.
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

    /// An area to read into. A run may have to be made for it.
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
            // Without other threads, the run is made already.
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
        // Without other threads, nothing is read meanwhile.
        let has_begun = !self.spilled.is_empty() && self.job.plan.threads > 1;
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

    /// Bytes of memory of the chunks that become the next run: the more runs there are, the more.
    fn run_bytes(&self) -> usize {
        let most = self.largest_run_bytes();
        let runs = self.spilled.len() + self.spills.len();
        (most / RUNS_UNTIL_LARGEST * runs).clamp(1, most)
    }

    /// Bytes of memory of the chunks of a run, at most: half of the memory, so that the other half
    /// can be read into and sorted; all of it if there are no other threads.
    fn largest_run_bytes(&self) -> usize {
        let Plan { areas, area_bytes, threads, .. } = self.job.plan;
        if threads == 1 { areas * area_bytes } else { areas / 2 * area_bytes }
    }

    /// Bytes of memory that it takes to hold all that is still to be read, if that is as what was
    /// read, and the blocks of a merge.
    fn needed_bytes(&self) -> usize {
        let Some(remaining) = self.reader.remaining else { return usize::MAX };
        // As much as the text, until something was read.
        let share = (1 + self.chunk_bytes) as f64 / (1 + self.text_bytes) as f64;
        let needed = remaining as f64 * share;
        // What is left of areas when they are full is less than one in all.
        let unused = self.job.plan.area_bytes / 2;
        (needed as usize).saturating_add(unused + self.block_bytes())
    }

    /// Bytes of blocks for a merge of all runs, if there is one on scratch, beside the sort
    /// buffers.
    fn block_bytes(&self) -> usize {
        let plan = &self.job.plan;
        let blocks = self.spilled.len() + 2 + ample_working_blocks(plan);
        (blocks * plan.block_bytes).saturating_sub(plan.threads * plan.sort_buffer_bytes)
    }

    /// Makes room for the blocks of runs on scratch, on all threads; a merge needs more if lines
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

    /// A larger area for the beginning of a line, with that in it. For a line of the greatest
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

    /// Begins a run of the oldest chunks, of about `bytes` bytes of memory, if the oldest is
    /// sorted.
    fn start_run(&mut self, bytes: usize) -> Result<(), Error> {
        let (first, chunks) = self.sorted.take(bytes);
        if chunks.is_empty() {
            return Ok(());
        }
        let threads = self.job.plan.threads;
        let parts = if threads == 1 { 1 } else { PARTS_PER_THREAD * threads };
        let group = ChunkGroup::new(self.job.order, self.job.options.delimiter, chunks, parts);
        let spill = Spill::new(first, group);
        let tasks = spill.tasks();
        self.spills.push_back(spill);
        tasks.into_iter().try_for_each(|task| self.start(task))
    }

    /// Takes in a part of a run, and the runs that are complete: in the order of the input, because
    /// the journal counts them.
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
            self.finish_run(spill);
        }
    }

    /// Takes in a run that is on scratch.
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

    /// Lets threads that have nothing to do touch the memory of an area first, while this one reads
    /// into it.
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
