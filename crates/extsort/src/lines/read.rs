//! Which blocks of runs on scratch to bring back, and when.
//!
//! Every run holds the block in which the merge stands. What memory is left goes to the blocks that are needed next, by the beginnings of their
//! first lines (Knuth's forecasting, vol. 3, 5.4.9). These are a hint only, for lines may be alike for longer than an index can hold: so a
//! run without a block always gets one before any other gets its second, and the merge comes to its end whatever the hint says.

use super::Job;
use super::run::{Block, Run};
use super::stream::Filled;
use crate::Error;
use crate::seal::check_seal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use xsort_disk::{Completion, Direction, Lease, Request, Shelf, align_up};
use xsort_kernels::lines::LineOrder;

/// Reads in flight, at most.
const FLIGHT_BYTES: usize = 16 << 20;

/// Blocks of a sorted source that are kept ahead of the merge.
const SOURCE_BLOCKS: usize = 2;

/// A block in memory again.
#[derive(Debug)]
pub(super) struct Loaded {
    lease: Lease,
    bytes: usize,
    last_line: usize,
}

impl Loaded {
    /// Its lines, each with its delimiter.
    pub(super) fn text(&self) -> &[u8] {
        &self.lease[..self.bytes]
    }

    /// Its last line, without delimiter.
    pub(super) fn last_line(&self) -> &[u8] {
        &self.lease[self.last_line..self.bytes - 1]
    }
}

/// Where the merge stands in a run.
pub(super) struct Front<'r> {
    pub(super) run: &'r Run,
    /// On scratch: the next block to read.
    next_read: usize,
    /// Blocks that were asked for and are not in `loaded`.
    arriving: VecDeque<Option<Arc<Loaded>>>,
    /// From the one in which the merge stands.
    pub(super) loaded: VecDeque<Arc<Loaded>>,
    /// What of the first of these is merged, in bytes; of a run in memory, in entries.
    pub(super) offset: usize,
}

impl<'r> Front<'r> {
    pub(super) fn new(run: &'r Run) -> Self {
        Front { run, next_read: 0, arriving: VecDeque::new(), loaded: VecDeque::new(), offset: 0 }
    }

    fn blocks(&self) -> &'r [Block] {
        match self.run {
            Run::OnScratch(blocks) => blocks,
            Run::InMemory(_) | Run::Sorted(_) => &[],
        }
    }

    /// Whether there are lines that are not in memory.
    pub(super) fn has_more(&self) -> bool {
        match self.run {
            Run::InMemory(_) => false,
            Run::OnScratch(blocks) => self.next_read < blocks.len() || !self.arriving.is_empty(),
            Run::Sorted(stream) => !stream.lock().unwrap_or_else(PoisonError::into_inner).is_over(),
        }
    }

    /// Whether there are lines in memory.
    pub(super) fn is_left(&self) -> bool {
        match self.run {
            Run::InMemory(chunk) => self.offset < chunk.entries_count(),
            Run::OnScratch(_) | Run::Sorted(_) => !self.loaded.is_empty(),
        }
    }

    fn is_starving(&self) -> bool {
        self.has_more() && self.loaded.is_empty() && self.arriving.is_empty()
    }
}

/// Brings blocks back.
pub(super) struct Reader<'a, 'j, O: LineOrder> {
    job: &'j Job<'a, O>,
    shelf: Arc<Shelf>,
    /// Blocks in the order in which they should be needed.
    forecast: Vec<(u32, u32)>,
    forecast_at: usize,
    pub(super) in_flight: usize,
    done_to: Sender<Completion>,
    pub(super) done_from: Receiver<Completion>,
}

impl<'a, 'j, O: LineOrder> Reader<'a, 'j, O> {
    pub(super) fn new(job: &'j Job<'a, O>, shelf: Arc<Shelf>, runs: &[Run]) -> Self {
        let mut forecast = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            let Run::OnScratch(blocks) = run else { continue };
            forecast.extend((0..blocks.len()).map(|block| (number as u32, block as u32)));
        }
        let key = |&(run, block): &(u32, u32)| match &runs[run as usize] {
            Run::OnScratch(blocks) => (blocks[block as usize].first_key, block, run),
            Run::InMemory(_) | Run::Sorted(_) => unreachable!("only blocks on scratch are forecast"),
        };
        forecast.sort_unstable_by_key(key);
        let (done_to, done_from) = unbounded();
        Reader { job, shelf, forecast, forecast_at: 0, in_flight: 0, done_to, done_from }
    }

    /// Starts as many reads as there is memory for.
    pub(super) fn start(&mut self, fronts: &mut [Front<'_>]) -> Result<(), Error> {
        let in_flight_max = (FLIGHT_BYTES / self.shelf.block_bytes()).clamp(4, 256);
        let mut starving = 0;
        for run in 0..fronts.len() {
            if fronts[run].is_starving() && !self.read(fronts, run)? {
                starving += 1;
            }
        }
        for run in 0..fronts.len() {
            let Front { run: Run::Sorted(_), loaded, .. } = &fronts[run] else { continue };
            if loaded.len() < SOURCE_BLOCKS && fronts[run].has_more() && self.shelf.available() > starving {
                self.read(fronts, run)?;
            }
        }
        while self.in_flight < in_flight_max && self.shelf.available() > starving {
            let Some(&(run, block)) = self.forecast.get(self.forecast_at) else { break };
            if fronts[run as usize].next_read == block as usize && !self.read(fronts, run as usize)? {
                break;
            }
            self.forecast_at += 1;
        }
        Ok(())
    }

    /// Starts to read a run's next block, if there is memory.
    fn read(&mut self, fronts: &mut [Front<'_>], run: usize) -> Result<bool, Error> {
        let Some(lease) = self.shelf.try_take() else { return Ok(false) };
        let front = &mut fronts[run];
        if let Run::Sorted(stream) = front.run {
            let mut lease = lease;
            let filled = stream.lock().unwrap_or_else(PoisonError::into_inner).read(&mut lease)?;
            let loaded = |Filled { bytes, last_line }| Arc::new(Loaded { lease, bytes, last_line });
            front.loaded.extend(filled.map(loaded));
            return Ok(true);
        }
        let block = &front.blocks()[front.next_read];
        let bytes = align_up(u64::from(block.bytes)) as usize;
        self.job.disk.submit(Request {
            direction: Direction::Read,
            file: self.job.scratch()?.file(block.place.drive),
            offset: block.place.offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: (run as u64) << 32 | front.next_read as u64,
            reply: self.done_to.clone(),
        });
        front.next_read += 1;
        front.arriving.push_back(None);
        self.in_flight += 1;
        Ok(true)
    }

    /// Takes a finished read in.
    pub(super) fn finish(&mut self, fronts: &mut [Front<'_>], completion: Completion) -> Result<(), Error> {
        self.in_flight -= 1;
        completion.result?;
        let (run, number) = ((completion.tag >> 32) as usize, completion.tag as u32 as usize);
        let front = &mut fronts[run];
        let block = &front.blocks()[number];
        let pages = &completion.lease[..completion.bytes];
        check_seal(self.job.disk, self.job.scratch()?, block.place, pages, block.checksum)?;
        let (bytes, last_line) = (block.bytes as usize, block.last_line as usize);
        let at = number + front.arriving.len() - front.next_read;
        front.arriving[at] = Some(Arc::new(Loaded { lease: completion.lease, bytes, last_line }));
        while let Some(Some(_)) = front.arriving.front() {
            front.loaded.extend(front.arriving.pop_front().flatten());
        }
        Ok(())
    }
}
