//! The coordinating thread of a merge: it reads blocks, cuts segments, and passes both to workers.

use super::super::input::too_long;
use super::super::job::LinesJob;
use super::super::line_limits::input_line_bytes_max;
use super::super::options::LinesOptions;
use super::super::plan::Plan;
use super::super::run::Run;
use super::cursor::{RunCursor, RunPosition};
use super::cut::Cutter;
use super::memory::MergeMemory;
use super::reader::Reader;
use super::worker::{MergeOutcome, MergeTask};
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crossbeam_channel::{Receiver, select};

/// The position at which a merge starts.
#[derive(Default)]
pub(crate) struct MergeStart {
    /// Positions of the runs; empty if they start at their beginnings.
    pub(crate) positions: Vec<RunPosition>,
    /// Lines before these positions.
    pub(crate) lines: u64,
}

/// Does tasks, at once or later.
pub(crate) trait MergeWorkers<'r> {
    /// Starts a task. Returns its outcome if it is known already, else the outcome comes through
    /// [`outcomes`](MergeWorkers::outcomes).
    fn give(&mut self, task: MergeTask<'r>) -> Result<Option<MergeOutcome>, Error>;

    fn outcomes(&self) -> &Receiver<Result<MergeOutcome, Error>>;

    fn threads(&self) -> usize;
}

/// Coordinates one merge.
pub(crate) struct Coordinator<'a, 'j, 'r, T> {
    job: &'j LinesJob<'a>,
    runs: &'r [Run],
    cursors: Vec<RunCursor<'r>>,
    reader: Reader<'a, 'j>,
    cutter: Cutter<'j, 'r>,
    workers: T,
    segments_merged: usize,
    lines_merged: u64,
}

impl<'a, 'j, 'r, T: MergeWorkers<'r>> Coordinator<'a, 'j, 'r, T> {
    /// Coordinates a merge of `runs` from `start`, in segments of about `segment_bytes` bytes.
    pub(crate) fn new(
        job: &'j LinesJob<'a>,
        runs: &'r [Run],
        start: &MergeStart,
        memory: &'j MergeMemory,
        segment_bytes: usize,
        workers: T,
    ) -> Self {
        let mut cursors: Vec<RunCursor<'r>> =
            runs.iter().map(|run| RunCursor::new(run, job.plan.block_bytes)).collect();
        for (cursor, &position) in cursors.iter_mut().zip(&start.positions) {
            cursor.seek(position);
        }
        let cutter = Cutter::new(
            job.order,
            job.options.delimiter,
            job.options.is_unique,
            segment_bytes,
            job.journal.is_recording(),
        );
        let reader = Reader::new(job, memory, runs);
        let (segments_merged, lines_merged) = (0, start.lines);
        Coordinator { job, runs, cursors, reader, cutter, workers, segments_merged, lines_merged }
    }

    /// Merges all runs to their ends. Returns early if the job stops; the failure then has the
    /// reason.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        while !self.job.should_stop() {
            let has_read = self.reader.start(&mut self.cursors)?;
            self.give_blocks()?;
            let has_cut = self.give_segments()?;
            if self.segments_merged < self.cutter.segments() || !self.reader.is_idle() {
                self.wait()?;
            } else if !self.cursors.iter().any(|run| run.has_more() || run.has_loaded()) {
                return self.check_lines();
            } else if !has_cut && !has_read {
                return Err(self.refuse_long_line());
            }
        }
        Ok(())
    }

    /// Gives the blocks of sorted inputs to workers, to be checked.
    fn give_blocks(&mut self) -> Result<(), Error> {
        while let Some(block) = self.reader.take_unchecked() {
            let outcome = self.workers.give(MergeTask::Check(block))?;
            self.take_outcome(outcome)?;
        }
        Ok(())
    }

    /// Cuts enough segments to keep the workers busy. Returns true if there was one.
    fn give_segments(&mut self) -> Result<bool, Error> {
        let before = self.cutter.segments();
        let cut_busy = &self.job.gauges.stage_times.cut_busy;
        while self.cutter.segments() < self.segments_merged + self.workers.threads() + 2
            && let Some(segment) = cut_busy.time(|| self.cutter.next(&mut self.cursors))
        {
            let outcome = self.workers.give(MergeTask::Merge(segment))?;
            self.take_outcome(outcome)?;
        }
        Ok(self.cutter.segments() > before)
    }

    /// Waits until a block was read or a task done, or for a short time.
    fn wait(&mut self) -> Result<(), Error> {
        let outcome = select! {
            recv(self.reader.done_from) -> read => {
                let read = read.expect("the reader holds a sender");
                match self.reader.finish(&mut self.cursors, read)? {
                    Some(block) => self.workers.give(MergeTask::Decompress(block))?,
                    None => None,
                }
            }
            recv(self.workers.outcomes()) -> outcome => {
                Some(outcome.expect("the workers hold a sender")?)
            }
            default(STOP_INTERVAL) => None,
        };
        self.take_outcome(outcome)
    }

    fn take_outcome(&mut self, outcome: Option<MergeOutcome>) -> Result<(), Error> {
        match outcome {
            Some(MergeOutcome::Merged(lines)) => {
                self.segments_merged += 1;
                self.lines_merged += lines;
            }
            Some(MergeOutcome::Decompressed(block)) => {
                self.reader.finish_decompressed(&mut self.cursors, block)?;
            }
            Some(MergeOutcome::Checked(block)) => {
                self.reader.finish_checked(&mut self.cursors, block)?;
            }
            None => {}
        }
        Ok(())
    }

    fn check_lines(&self) -> Result<(), Error> {
        let (lines, expected) = (self.lines_merged, self.runs.iter().map(Run::lines).sum::<u64>());
        if lines == expected {
            return Ok(());
        }
        Err(Error::Lost { what: format!("{lines} lines merged of {expected}") })
    }

    /// Returns why the merge can't go on: a sorted input has a line that no block can hold, or too
    /// many inputs have long lines at once.
    fn refuse_long_line(&self) -> Error {
        let inputs = self.runs.iter().filter(|run| run.is_sorted_input()).count();
        let starving = self.cursors.iter().find(|cursor| cursor.is_starving());
        let Some(RunCursor { run: Run::Sorted(input), .. }) = starving else {
            return Error::Lost { what: "a merge came to a standstill".into() };
        };
        let options = self.job.options;
        let mut input = input.lock();
        let (begun, reader) = input.partial_line();
        let line_bytes_max = |budget_bytes| {
            let options = LinesOptions { budget_bytes, ..options.clone() };
            let plan = Plan::for_merge(&options, inputs, self.job.merged_bytes);
            input_line_bytes_max(&plan, inputs)
        };
        too_long(reader, begun, options, line_bytes_max)
    }
}
