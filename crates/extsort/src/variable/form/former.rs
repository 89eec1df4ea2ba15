//! The reading thread of phase one: it fills areas, gives chunks to workers, and decides what is
//! spilled.

use super::super::areas::Areas;
use super::super::block::SpilledBlock;
use super::super::chunk::{Chunk, HashSums};
use super::super::input::too_long;
use super::super::job::LinesJob;
use super::super::line_limits::line_bytes_max;
use super::super::options::LinesOptions;
use super::super::plan::Plan;
use super::super::run::Run;
use super::fill::{ChunkReader, Divided, Filled, Filling};
use super::worker::{FormOutcome, FormTask, FormWorker};
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crate::store::journal::Step;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xsort_disk::Lease;
use xsort_kernels::lines::LineOrder;

/// Does tasks: other threads, or this one if there are none.
pub(crate) struct FormWorkers<'a, 'j, 'w, O: LineOrder> {
    pub(crate) worker: &'w FormWorker<'a, 'j, O>,
    /// Tasks for other threads.
    pub(crate) tasks: Option<Sender<FormTask>>,
    pub(crate) outcomes: Receiver<Result<FormOutcome, Error>>,
}

/// Forms runs.
pub(crate) struct Former<'a, 'j, 'w, O: LineOrder> {
    job: &'j LinesJob<'a, O>,
    workers: FormWorkers<'a, 'j, 'w, O>,
    reader: ChunkReader<'a, 'j, O>,
    free: Areas,
    /// An area with the beginning of a long line.
    next: Option<Filling>,
    /// Sorted chunks in memory, by number.
    sorted: BTreeMap<usize, Chunk>,
    /// Runs on scratch.
    spilled: BTreeMap<usize, Run>,
    /// What the journal will say of sorted chunks, if there is one.
    summaries: BTreeMap<usize, ChunkSummary>,
    /// The number of the first run that isn't in the journal.
    recorded: usize,
    /// Tasks under way, and how many of these spill.
    working: usize,
    spilling: usize,
    chunks: usize,
    lines: u64,
    bytes: u64,
}

/// What a former has made.
pub(crate) struct Formed {
    /// In the order of the input.
    pub(crate) runs: Vec<Run>,
    pub(crate) free: Areas,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// What the journal says of a chunk besides its blocks: lines and bytes as they were read, and the
/// sums of the lines' hashes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ChunkSummary {
    lines: u64,
    bytes: u64,
    read_sum: u64,
    dropped_sum: u64,
}

impl ChunkSummary {
    fn new(chunk: &Chunk, sums: HashSums) -> ChunkSummary {
        ChunkSummary {
            lines: chunk.lines() as u64,
            bytes: chunk.text_bytes() as u64,
            read_sum: sums.read,
            dropped_sum: sums.dropped,
        }
    }
}

impl<'a, 'j, 'w, O: LineOrder> Former<'a, 'j, 'w, O> {
    pub(crate) fn new(
        job: &'j LinesJob<'a, O>,
        workers: FormWorkers<'a, 'j, 'w, O>,
        reader: ChunkReader<'a, 'j, O>,
        free: Areas,
    ) -> Self {
        Former {
            job,
            workers,
            reader,
            free,
            next: None,
            sorted: BTreeMap::new(),
            spilled: BTreeMap::new(),
            summaries: BTreeMap::new(),
            recorded: 0,
            working: 0,
            spilling: 0,
            chunks: 0,
            lines: 0,
            bytes: 0,
        }
    }

    /// Takes over the runs that an earlier process has formed of the first lines. Returns whether
    /// these were all.
    pub(crate) fn replay(&mut self) -> Result<bool, Error> {
        let journal = self.job.journal;
        while let Some((summary, blocks)) =
            journal.replay::<(ChunkSummary, Vec<SpilledBlock>)>(Step::Chunk(self.chunks as u64))?
        {
            self.job.claim(&blocks)?;
            self.lines += summary.lines;
            self.bytes += summary.bytes;
            self.job.balance.read(summary.read_sum);
            self.job.balance.dropped(summary.dropped_sum);
            self.job.observer.advance(summary.bytes);
            self.spilled.insert(self.chunks, Run::OnScratch(blocks));
            self.chunks += 1;
        }
        journal.refuse_more_chunks()?;
        self.recorded = self.chunks;
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
            self.job.observer.advance(bytes);
            self.start(FormTask::Sort(self.chunks, chunk))?;
            self.chunks += 1;
            if self.reader.is_over() && self.next.is_none() {
                break;
            }
        }
        self.wait_for_all()
    }

    /// Spills all runs, so that a later process finds them and nobody needs the inputs.
    pub(crate) fn spill_all(&mut self) -> Result<(), Error> {
        while !self.sorted.is_empty() {
            self.spill_oldest()?;
            self.wait_for_all()?;
        }
        Ok(())
    }

    /// Ends the work of other threads.
    pub(crate) fn end(self) -> Formed {
        let Former { sorted, spilled: mut runs, free, lines, bytes, .. } = self;
        runs.extend(sorted.into_iter().map(|(number, chunk)| (number, Run::InMemory(chunk))));
        Formed { runs: runs.into_values().collect(), free, lines, bytes }
    }

    /// Reads the next chunk; `None` if there are no more lines.
    fn next_chunk(&mut self) -> Result<Option<Chunk>, Error> {
        let mut filling = match self.next.take() {
            Some(filling) => filling,
            None => Filling { area: self.area()?, text_bytes: 0 },
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

    /// An area to read into. A run may have to be spilled for it, and one is if this is the last
    /// area and there may be more to read than fits.
    fn area(&mut self) -> Result<Lease, Error> {
        while let Ok(outcome) = self.workers.outcomes.try_recv() {
            self.take_outcome(outcome)?;
        }
        loop {
            if let Some(area) = self.free.take() {
                let is_last = !self.free.has_area();
                let fits = area.len() as u64 / 2;
                let is_more = self.reader.remaining.is_none_or(|remaining| remaining > fits);
                if is_last && self.spilling == 0 && is_more {
                    self.spill_oldest()?;
                }
                return Ok(area);
            }
            if self.spilling == 0 {
                self.spill_oldest()?;
            }
            // A small run may not have freed enough for an area. Without other threads, it is
            // spilled already.
            if !self.free.has_area() && self.working > 0 {
                self.wait()?;
            }
        }
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
        let wanted = Chunk::bytes_needed(longest, 1, plan.entry_bytes)
            .min((2 * area.len()).max(plan.area_bytes))
            .min(plan.areas * plan.area_bytes);
        loop {
            area = match self.free.grow(area, text_bytes, wanted) {
                Ok(larger) => return Ok(larger),
                Err(area) => area,
            };
            if self.spilling == 0 {
                self.spill_oldest()?;
            }
            if self.working > 0 {
                self.wait()?;
            }
        }
    }

    fn spill_oldest(&mut self) -> Result<(), Error> {
        match self.sorted.pop_first() {
            Some((number, chunk)) => {
                self.spilling += 1;
                self.start(FormTask::Spill(number, chunk))
            }
            None => Ok(()),
        }
    }

    fn start(&mut self, task: FormTask) -> Result<(), Error> {
        self.working += 1;
        match &self.workers.tasks {
            Some(tasks) => {
                tasks.send(task).expect("workers live as long as the scope");
                Ok(())
            }
            None => {
                let outcome = self.workers.worker.work(task);
                self.take_outcome(outcome)
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
            FormOutcome::Spilled(number, blocks, area) => {
                self.spilling -= 1;
                self.spilled.insert(number, Run::OnScratch(blocks));
                self.record_runs();
                self.free.give(area);
            }
        }
        Ok(())
    }

    /// Records the runs on scratch before which there is no gap. Threads may be done with a chunk
    /// before an earlier one; but a later process reads the lines of a gap in other chunks, and
    /// discards what lies behind it on scratch.
    fn record_runs(&mut self) {
        while let (Some(summary), Some(run)) =
            (self.summaries.get(&self.recorded), self.spilled.get(&self.recorded))
        {
            let step = Step::Chunk(self.recorded as u64);
            self.job.journal.record(step, &(summary, run.blocks()));
            self.summaries.remove(&self.recorded);
            self.recorded += 1;
        }
    }
}
