//! Reading a merge's blocks in the order of the forecast, and building segments of them.
//!
//! Reads are submitted as long as there are free blocks. A segment is handed out once all of its
//! blocks are in memory, so a thread that merges it never waits for a read. Its cuts determine its
//! position in the output. The serial part is a few instructions per run for every few megabytes.
//!
//! A merge always makes progress: reads are in the order in which cuts need them, every run holds
//! at most one block across a cut, and the plan has a block for each of these in addition to the
//! blocks of the segments in flight.

use super::cut::Cut;
use super::forecast::RunBlock;
use super::run::Run;
use super::segment::{LoadedBlock, Segment, SegmentBuilder};
use super::slices::find_cut;
use crate::Error;
use crate::records::frontier::OutputProgress;
use crate::records::job::SortJob;
use crate::records::pipeline::Feed;
use crate::records::plan::MergeShape;
use crate::store::journal::Step;
use crate::store::seal::check_seal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::sync::Arc;
use xsort_disk::{BlockPool, Completion, Lease};

/// Bytes of reads in flight: enough for several drives, but few enough not to delay writes to the
/// same drive.
const READ_FLIGHT_BYTES: usize = 32 << 20;

/// The [`Feed`] of a merge.
pub(super) struct MergeFeed<'a> {
    job: &'a SortJob<'a>,
    runs: &'a [Run],
    /// Memory for blocks from scratch.
    pool: &'a Arc<BlockPool>,
    forecast: &'a [RunBlock],
    /// Number of the forecast's blocks whose reads were started.
    started: usize,
    in_flight: usize,
    /// Blocks whose reads were started and that aren't in a segment yet. The first has number
    /// `pushed` in the forecast.
    window: VecDeque<Slot>,
    /// Number of the forecast's blocks that are in a segment.
    pushed: usize,
    segments: SegmentBuilder<'a>,
    /// Number of merged segments.
    segments_done: usize,
    segment_blocks: usize,
    /// The forecast number of the next segment's first block.
    segment_start: usize,
    completions_to: Sender<Completion>,
    completions_from: Receiver<Completion>,
}

enum Slot {
    Reading,
    /// A block in memory; `None` if its run is resident.
    Ready(Option<Arc<LoadedBlock>>),
}

impl<'a> MergeFeed<'a> {
    /// Begins after the written part of the output, as if its segments had been merged.
    ///
    /// # Errors
    /// If a read fails, or if the blocks of the written part have another number of records.
    pub(super) fn new(
        job: &'a SortJob<'a>,
        shape: &MergeShape,
        runs: &'a [Run],
        pool: &'a Arc<BlockPool>,
        forecast: &'a [RunBlock],
        begun: &OutputProgress,
    ) -> Result<Self, Error> {
        let spilled = runs.iter().filter(|run| run.resident().is_none()).count();
        // In addition to a block for every run, there are the blocks of the segments in flight and
        // of the segment that is being read.
        let segment_blocks = if spilled == 0 {
            shape.segment_blocks
        } else {
            let free = pool.capacity().checked_sub(spilled);
            let free = free.expect("the plan has a block for every run");
            shape.segment_blocks.min(free / (job.plan.threads + 3)).max(1)
        };
        let (completions_to, completions_from) = unbounded();
        let mut feed = MergeFeed {
            job,
            runs,
            pool,
            forecast,
            started: 0,
            in_flight: 0,
            window: VecDeque::new(),
            pushed: 0,
            segments: SegmentBuilder::new(runs),
            segments_done: 0,
            segment_blocks,
            segment_start: 0,
            completions_to,
            completions_from,
        };
        let skipped = feed.skip_to(begun.sources as usize)?;
        if skipped * job.record_bytes as u64 != begun.prefix.bytes {
            let detail = format!("{skipped} records are not {} bytes", begun.prefix.bytes);
            return Err(job.journal.refuse(Step::Written, &detail));
        }
        // The skipped segments count as one.
        feed.segments_done = feed.segments.begun();
        Ok(feed)
    }

    /// The number of the first segment that is handed out.
    pub(super) fn first_segment(&self) -> usize {
        self.segments_done
    }

    /// Skips to block `from` of the forecast. Reads the blocks that the cut there divides, and
    /// finds the cut. Returns the number of records before it.
    fn skip_to(&mut self, from: usize) -> Result<u64, Error> {
        let Some(&next) = self.forecast.get(from) else {
            self.segment_start = self.forecast.len();
            (self.started, self.pushed) = (self.segment_start, self.segment_start);
            return Ok(self.runs.iter().map(|run| run.index.records()).sum());
        };
        let mut skipped = vec![0; self.runs.len()];
        self.forecast[..from].iter().for_each(|block| skipped[block.run as usize] += 1);
        let low = self.runs[next.run as usize].index.key(next.block as usize);
        for (number, &blocks) in skipped.iter().enumerate().filter(|(_, blocks)| **blocks > 0) {
            let run = &self.runs[number];
            let index = &run.index;
            let last = blocks - 1;
            let is_over = blocks == index.blocks().len() && index.largest() < low;
            let is_needed = run.resident().is_none() && !is_over;
            let loaded = if is_needed { Some(self.read_and_wait(number, last)?) } else { None };
            self.segments.skip(number, last, loaded, is_over);
        }
        (self.started, self.pushed, self.segment_start) = (from, from, from);
        let mut records = 0;
        if from > 0 {
            let skipped = self.segments.end(self.forecast[0], Some(next));
            let cut = find_cut(self.job, self.runs, &skipped);
            // No pipeline checks whether decompressing these blocks has failed.
            self.job.failure.check()?;
            let cut: Cut = cut?;
            records = cut.records;
            skipped.end.send(Arc::new(cut)).expect("the next segment has the receiver");
        }
        Ok(records)
    }

    /// Reads one block, waits for it, and checks its seal.
    fn read_and_wait(&mut self, run: usize, block: usize) -> Result<Arc<LoadedBlock>, Error> {
        let lease = self.pool.try_take().expect("the plan has a block for every run");
        self.submit(run, block, lease, 0);
        let completion = self.completions_from.recv().expect("this feed holds a sender");
        self.in_flight -= 1;
        self.job.traffic.finish(&completion);
        completion.result?;
        let sealed = self.runs[run].index.blocks()[block].sealed(self.job.record_bytes);
        let pages = &completion.lease[..sealed.bytes];
        check_seal(self.job.disk, self.job.scratch(), sealed.address, pages, sealed.seal)?;
        Ok(Arc::new(LoadedBlock::new(self.job, &self.runs[run], block, completion.lease)))
    }

    fn submit(&mut self, run: usize, block: usize, lease: Lease, tag: u64) {
        self.in_flight += 1;
        self.runs[run].read(self.job, block, (lease, tag), &self.completions_to);
    }
}

impl Feed for MergeFeed<'_> {
    type Unit = Segment;

    fn start_reads(&mut self) {
        let in_flight_max = (READ_FLIGHT_BYTES / self.pool.block_bytes().max(1)).clamp(4, 512);
        // Resident blocks are "read" for free, but their slots would pile up.
        while self.in_flight < in_flight_max
            && self.window.len() < 4 * in_flight_max + self.segment_blocks
        {
            let Some(&RunBlock { run, block }) = self.forecast.get(self.started) else { return };
            if self.runs[run as usize].resident().is_some() {
                self.window.push_back(Slot::Ready(None));
            } else {
                let Some(lease) = self.pool.try_take() else { return };
                self.window.push_back(Slot::Reading);
                self.submit(run as usize, block as usize, lease, self.started as u64);
            }
            self.started += 1;
        }
    }

    fn next_unit(&mut self) -> Option<Segment> {
        if self.is_done() || self.segments.begun() > self.segments_done + self.job.plan.threads {
            return None;
        }
        let end = self.forecast.len().min(self.segment_start + self.segment_blocks);
        while self.pushed < end {
            let loaded = match self.window.pop_front() {
                Some(Slot::Ready(loaded)) => loaded,
                Some(Slot::Reading) => {
                    self.window.push_front(Slot::Reading);
                    return None;
                }
                None => return None,
            };
            self.segments.push(self.forecast[self.pushed].run as usize, loaded);
            self.pushed += 1;
        }
        let (first, next) = (self.forecast[self.segment_start], self.forecast.get(end).copied());
        let hand_out_busy = &self.job.stage_times.hand_out_busy;
        let mut segment = hand_out_busy.time_cpu(|| self.segments.end(first, next));
        segment.sources = end;
        self.segment_start = end;
        Some(segment)
    }

    fn is_done(&mut self) -> bool {
        self.segment_start == self.forecast.len()
    }

    fn is_starved(&mut self) -> bool {
        false
    }

    fn completions(&self) -> &Receiver<Completion> {
        &self.completions_from
    }

    fn finish_read(&mut self, completion: Completion) -> Result<(), Error> {
        self.in_flight -= 1;
        self.job.traffic.finish(&completion);
        completion.result?;
        let number = completion.tag as usize;
        let RunBlock { run, block } = self.forecast[number];
        let run = &self.runs[run as usize];
        let loaded = LoadedBlock::new(self.job, run, block as usize, completion.lease);
        let loaded = Arc::new(loaded);
        self.window[number - self.pushed] = Slot::Ready(Some(loaded));
        Ok(())
    }

    fn finish_unit(&mut self, _area: Option<Lease>) {
        self.segments_done += 1;
    }
}
