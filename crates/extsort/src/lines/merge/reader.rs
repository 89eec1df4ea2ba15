//! Decides which blocks of runs a merge reads, and when.
//!
//! Every run holds the block at the merge's position. The rest of the memory goes to the blocks
//! needed next, judged by the beginnings of their first lines (Knuth's forecasting, vol. 3, 5.4.9).
//! These are only a hint, because lines may be equal for longer than the index holds of them. So a
//! run without a block always gets one before any other run gets its second, and the merge ends
//! whatever the hint says.
//!
//! There are blocks of two sizes, and a run may have both. For each run that will need a size and
//! holds no block of it, one stays free, and one more for the line of the last cut. So a run that
//! comes to a block of the other size finds memory for it, too.
//!
//! A compressed block is read into separate memory, and decompressed into its place by a merging
//! thread.

use super::super::input::{SortedInput, SortedRead};
use super::super::job::LinesJob;
use super::super::run::Run;
use super::compressed::{CompressedBlock, DecompressedBlock};
use super::cursor::{Arriving, RunCursor};
use super::memory::{BlockSize, MergeMemory, SORTED_INPUT_BLOCKS, SORTED_INPUT_BLOCKS_MAX};
use super::worker::{CheckedBlock, SortedBlock};
use crate::Error;
use crate::store::seal::check_seal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Completion;

/// Most bytes of reads in flight.
const FLIGHT_BYTES: usize = 32 << 20;

/// Reads blocks.
pub(crate) struct Reader<'a, 'j> {
    job: &'j LinesJob<'a>,
    memory: &'j MergeMemory,
    /// Blocks, as run and number, in the order in which the merge is expected to need them.
    forecast: Vec<(u32, u32)>,
    forecast_at: usize,
    /// Number of blocks being read, decompressed or checked.
    in_flight: usize,
    done_to: Sender<Completion>,
    pub(crate) done_from: Receiver<Completion>,
    /// Blocks of sorted inputs that were read and must be checked.
    unchecked: VecDeque<SortedBlock>,
}

impl<'a, 'j> Reader<'a, 'j> {
    pub(crate) fn new(job: &'j LinesJob<'a>, memory: &'j MergeMemory, runs: &[Run]) -> Self {
        let mut forecast = Vec::with_capacity(runs.iter().map(|run| run.blocks().len()).sum());
        for (number, run) in runs.iter().enumerate() {
            forecast.extend((0..run.blocks().len()).map(|block| (number as u32, block as u32)));
        }
        let key = |&(run, block): &(u32, u32)| {
            (runs[run as usize].blocks()[block as usize].first_key, block, run)
        };
        forecast.sort_unstable_by_key(key);
        let (done_to, done_from) = unbounded();
        let (forecast_at, in_flight, unchecked) = (0, 0, VecDeque::new());
        Reader { job, memory, forecast, forecast_at, in_flight, done_to, done_from, unchecked }
    }

    /// True if no block is being read, decompressed or checked.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Starts as many reads as there is memory for. Returns true if it started any.
    pub(crate) fn start(&mut self, cursors: &mut [RunCursor<'_>]) -> Result<bool, Error> {
        let mut has_read = false;
        for (run, cursor) in cursors.iter_mut().enumerate() {
            if cursor.is_starving() {
                has_read |= self.read(cursor, run)?;
            }
        }
        let reserved = |size| cursors.iter().map(|cursor| cursor.reserved(size)).sum::<usize>() + 1;
        let mut reserved = [reserved(BlockSize::Short), reserved(BlockSize::Long)];
        for (run, cursor) in cursors.iter_mut().enumerate() {
            let Run::Sorted(input) = cursor.run else { continue };
            let blocks_max = blocks_max(self.job, &input.lock());
            // A long block is taken only if the merge can't go on without it.
            let is_wanted =
                cursor.held() < blocks_max && !cursor.needs_long && cursor.is_readable();
            if is_wanted && self.is_available(cursor, BlockSize::Short, &mut reserved) {
                has_read |= self.read(cursor, run)?;
            }
        }
        Ok(has_read | self.read_ahead(cursors, &mut reserved)?)
    }

    /// Starts reads in the order of the forecast.
    fn read_ahead(
        &mut self,
        cursors: &mut [RunCursor<'_>],
        reserved: &mut [usize; 2],
    ) -> Result<bool, Error> {
        let mut has_read = false;
        let in_flight_max = (FLIGHT_BYTES / self.job.plan.block_bytes).clamp(4, 256);
        while self.in_flight < in_flight_max {
            let Some(&(run, number)) = self.forecast.get(self.forecast_at) else { break };
            let (run, number) = (run as usize, number as usize);
            let cursor = &mut cursors[run];
            if cursor.next_read == number {
                let size = cursor.size(&cursor.run.blocks()[number]);
                if !self.is_available(cursor, size, reserved) || !self.read(cursor, run)? {
                    break;
                }
                has_read = true;
            }
            self.forecast_at += 1;
        }
        Ok(has_read)
    }

    /// True if a run may have a block besides those `reserved` for others. If so, the block
    /// reserved for this run is released from `reserved`.
    fn is_available(
        &self,
        cursor: &RunCursor<'_>,
        size: BlockSize,
        reserved: &mut [usize; 2],
    ) -> bool {
        let own = cursor.reserved(size).min(1);
        let is_available = self.memory.of(size).available() > reserved[size as usize] - own;
        if is_available {
            reserved[size as usize] -= own;
        }
        is_available
    }

    /// Starts to read a run's next block, if there is memory. Returns true if it did.
    fn read(&mut self, cursor: &mut RunCursor<'_>, run: usize) -> Result<bool, Error> {
        if let Run::Sorted(input) = cursor.run {
            return self.read_sorted(cursor, run, &mut input.lock());
        }
        let block = &cursor.run.blocks()[cursor.next_read];
        let size = cursor.size(block);
        let block_pool = self.memory.of(size);
        let (lease, to) = if block.is_compressed() {
            let Some(compressed) = self.memory.compressed.try_take() else { return Ok(false) };
            let Some(to) = block_pool.try_take() else { return Ok(false) };
            (compressed, Some(to))
        } else {
            let Some(lease) = block_pool.try_take() else { return Ok(false) };
            (lease, None)
        };
        let bytes = block.paged_bytes() as usize;
        let tag = (run as u64) << 32 | cursor.next_read as u64;
        let scratch = self.job.scratch()?;
        self.job.disk.submit(scratch.read(block.address, bytes, lease, tag, &self.done_to));
        cursor.start_read(size, to);
        self.in_flight += 1;
        Ok(true)
    }

    /// Reads the next block of a sorted input, synchronously.
    fn read_sorted(
        &mut self,
        cursor: &mut RunCursor<'_>,
        run: usize,
        input: &mut SortedInput,
    ) -> Result<bool, Error> {
        let size = if cursor.needs_long { BlockSize::Long } else { BlockSize::Short };
        let Some(lease) = self.memory.of(size).try_take() else { return Ok(false) };
        match input.read(lease, self.job.plan.block_bytes)? {
            SortedRead::Lines(loaded, lines) => {
                self.job.sorted_lines.fetch_add(lines, Relaxed);
                self.job.sorted_bytes.fetch_add(loaded.text().len() as u64, Relaxed);
                if !self.job.checks_inputs {
                    cursor.push_loaded(loaded, size);
                    return Ok(true);
                }
                let number = cursor.start_check(size);
                let block = input.unchecked(loaded, lines);
                self.unchecked.push_back(SortedBlock { run, number, block });
                self.in_flight += 1;
                Ok(true)
            }
            // If this was a long block, there is no larger one.
            SortedRead::TooLong => Ok(!std::mem::replace(&mut cursor.needs_long, true)),
            SortedRead::End => Ok(true),
        }
    }

    /// Takes a finished read. Returns the block if it must be decompressed.
    pub(crate) fn finish<'r>(
        &mut self,
        cursors: &mut [RunCursor<'r>],
        read: Completion,
    ) -> Result<Option<CompressedBlock<'r>>, Error> {
        self.in_flight -= 1;
        let (run, number) = ((read.tag >> 32) as usize, read.tag as u32 as usize);
        let cursor = &mut cursors[run];
        let block = &cursor.run.blocks()[number];
        let Completion { result, lease, bytes, .. } = read;
        result?;
        let arriving = cursor.arriving_block(number);
        if let Arriving::Reading(to) = arriving
            && let Some((to, codec)) = to.take().zip(block.codec)
        {
            *arriving = Arriving::Decompressing;
            self.in_flight += 1;
            let (pages, pages_bytes) = (lease, bytes);
            return Ok(Some(CompressedBlock { run, number, block, codec, pages, pages_bytes, to }));
        }
        let pages = &lease[..bytes];
        check_seal(self.job.disk, self.job.scratch()?, block.address, pages, block.checksum)?;
        cursor.finish_read(number, lease, self.job.options.delimiter)?;
        Ok(None)
    }

    /// Takes a block of a sorted input that must be checked.
    pub(crate) fn take_unchecked(&mut self) -> Option<SortedBlock> {
        self.unchecked.pop_front()
    }

    /// Takes a block of a sorted input that was checked.
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] if it is not in order and all blocks before it are.
    pub(crate) fn finish_checked(
        &mut self,
        cursors: &mut [RunCursor<'_>],
        block: CheckedBlock,
    ) -> Result<(), Error> {
        self.in_flight -= 1;
        let CheckedBlock { run, number, block, sum } = block;
        let checked = sum.map(|sum| {
            self.job.balance.read(sum);
            block
        });
        cursors[run].finish_check(number, checked)
    }

    /// Takes a block that was decompressed.
    pub(crate) fn finish_decompressed(
        &mut self,
        cursors: &mut [RunCursor<'_>],
        block: DecompressedBlock,
    ) -> Result<(), Error> {
        self.in_flight -= 1;
        let delimiter = self.job.options.delimiter;
        cursors[block.run].finish_read(block.number, block.lease, delimiter)
    }
}

/// Most blocks of a sorted input that are held. Without checks there are few, because a read of a
/// pipe may have to wait. Each block that is being checked has a copy of the line before it: of
/// long lines there are few copies.
fn blocks_max(job: &LinesJob<'_>, input: &SortedInput) -> usize {
    let has_long_lines = input.last_line_bytes() > job.plan.block_bytes / SORTED_INPUT_BLOCKS_MAX;
    match job.checks_inputs && !has_long_lines {
        true => SORTED_INPUT_BLOCKS_MAX,
        false => SORTED_INPUT_BLOCKS,
    }
}
