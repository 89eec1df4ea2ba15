//! Which blocks of runs on scratch to bring back, and when.
//!
//! Every run holds the block in which the merge stands. What memory is left goes to the blocks that
//! are needed next, by the beginnings of their first lines (Knuth's forecasting, vol. 3, 5.4.9).
//! These are a hint only, for lines may be alike for longer than an index can hold: so a run
//! without a block always gets one before any other gets its second, and the merge comes to its end
//! whatever the hint says.
//!
//! There are blocks of two sizes, and a run may have both. For each run that holds none of a size
//! that it will need, one is left on the block pool, and one more for the last cut: so a run that
//! gets to a block of the other size finds memory for it, too.
//!
//! A compressed block comes into memory of its own. Whoever merges decompresses it into its place.

use super::Job;
use super::codec::Unpacker;
use super::merge_memory::{SOURCE_BLOCKS, Shelves, Size};
use super::run::{Block, Run};
use super::stream::Filled;
use crate::Error;
use crate::store::scratch::BlockAddress;
use crate::store::seal::check_seal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use xsort_disk::{Completion, Direction, Lease, Request};
use xsort_kernels::lines::LineOrder;

/// Reads in flight, at most.
const FLIGHT_BYTES: usize = 16 << 20;

/// A block in memory again.
#[derive(Debug)]
pub(super) struct Loaded {
    lease: Lease,
    bytes: usize,
    last_line: usize,
}

impl Loaded {
    pub(super) fn new(lease: Lease, bytes: usize, last_line: usize) -> Loaded {
        Loaded { lease, bytes, last_line }
    }

    /// Its lines, each with its delimiter.
    pub(super) fn text(&self) -> &[u8] {
        &self.lease[..self.bytes]
    }

    /// Its last line, without delimiter.
    pub(super) fn last_line(&self) -> &[u8] {
        &self.lease[self.last_line..self.bytes - 1]
    }

    /// All of its memory; what lies behind its lines may be the beginning of another.
    pub(super) fn memory(&self) -> &[u8] {
        &self.lease
    }
}

/// A compressed block that has to be decompressed.
pub(super) struct Packed {
    run: usize,
    number: usize,
    place: BlockAddress,
    checksum: u64,
    packed: Lease,
    pages_bytes: usize,
    packed_bytes: usize,
    to: Lease,
    bytes: usize,
}

/// One that was.
pub(super) struct Unpacked {
    run: usize,
    number: usize,
    lease: Lease,
}

impl Packed {
    pub(super) fn unpack<O: LineOrder>(
        mut self,
        job: &Job<'_, O>,
        unpacker: &mut Unpacker,
    ) -> Result<Unpacked, Error> {
        let scratch = job.scratch()?;
        check_seal(job.disk, scratch, self.place, &self.packed[..self.pages_bytes], self.checksum)?;
        let unpacked =
            unpacker.unpack(&self.packed[..self.packed_bytes], &mut self.to[..self.bytes]);
        unpacked.map_err(|reason| {
            let what =
                format!("a scratch block of {} bytes can't be decompressed: {reason}", self.bytes);
            Error::corrupt(job.disk, scratch.file(self.place.drive), self.place.offset, what)
        })?;
        Ok(Unpacked { run: self.run, number: self.number, lease: self.to })
    }
}

/// A block that was asked for.
enum Arriving {
    /// With the memory for what is in it, if it comes compressed.
    Reading(Option<Lease>),
    Unpacking,
    Here(Arc<Loaded>),
}

/// Where the merge stands in a run.
pub(super) struct Front<'r> {
    pub(super) run: &'r Run,
    block_bytes: usize,
    /// On scratch: the next block to read.
    next_read: usize,
    /// On scratch: long blocks that are still to be read.
    long_left: usize,
    /// Blocks that were asked for and are not in `loaded`.
    arriving: VecDeque<Arriving>,
    /// From the one in which the merge stands.
    pub(super) loaded: VecDeque<Arc<Loaded>>,
    /// Long ones among these two.
    long_held: usize,
    /// Blocks that are merged, or in segments that are being merged.
    passed: usize,
    /// What of the first of these is merged, in bytes; of a run in memory, in entries.
    pub(super) offset: usize,
    /// A sorted source's next line is longer than a block.
    needs_long: bool,
}

impl<'r> Front<'r> {
    /// At the beginning of a run whose blocks are short up to so many bytes.
    pub(super) fn new(run: &'r Run, block_bytes: usize) -> Self {
        let is_long = |block: &&Block| block.bytes > block_bytes as u64;
        Front {
            run,
            block_bytes,
            next_read: 0,
            long_left: run.blocks().iter().filter(is_long).count(),
            arriving: VecDeque::new(),
            loaded: VecDeque::new(),
            long_held: 0,
            passed: 0,
            offset: 0,
            needs_long: false,
        }
    }

    /// Where the merge stands in a run on scratch: behind so many blocks, and so many bytes of the
    /// next.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.passed, self.offset)
    }

    /// Goes to a position, before anything is read.
    pub(super) fn go_to(&mut self, (blocks, offset): (usize, usize)) {
        let is_long = |block: &&Block| block.bytes > self.block_bytes as u64;
        self.long_left -= self.run.blocks()[..blocks].iter().filter(is_long).count();
        (self.next_read, self.passed, self.offset) = (blocks, blocks, offset);
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

    /// Takes the next blocks, which are merged as soon as the segment is that they are in.
    pub(super) fn pass(
        &mut self,
        blocks: usize,
    ) -> std::collections::vec_deque::Drain<'_, Arc<Loaded>> {
        let is_long = |loaded: &&Arc<Loaded>| loaded.lease.len() > self.block_bytes;
        self.passed += blocks;
        self.long_held -= self.loaded.iter().take(blocks).filter(is_long).count();
        self.loaded.drain(..blocks)
    }

    pub(super) fn is_starving(&self) -> bool {
        self.has_more() && self.loaded.is_empty() && self.arriving.is_empty()
    }

    /// The size of a block.
    fn size(&self, block: &Block) -> Size {
        if block.bytes > self.block_bytes as u64 { Size::Long } else { Size::Short }
    }

    /// How many blocks of a size must be left for it on the block pool.
    fn reserved(&self, size: Size) -> usize {
        let held = self.loaded.len() + self.arriving.len();
        match (self.run, size) {
            (Run::InMemory(_), _) | (Run::Sorted(_), Size::Long) => 0,
            (Run::Sorted(_), Size::Short) if self.has_more() => SOURCE_BLOCKS.saturating_sub(held),
            (Run::Sorted(_), Size::Short) => 0,
            (Run::OnScratch(blocks), Size::Short) => {
                let is_needed = blocks.len() - self.next_read > self.long_left;
                usize::from(is_needed && held == self.long_held)
            }
            (Run::OnScratch(_), Size::Long) => {
                usize::from(self.long_left > 0 && self.long_held == 0)
            }
        }
    }
}

/// Brings blocks back.
pub(super) struct Reader<'a, 'j, O: LineOrder> {
    job: &'j Job<'a, O>,
    block_pools: &'j Shelves,
    /// Blocks in the order in which they should be needed.
    forecast: Vec<(u32, u32)>,
    forecast_at: usize,
    in_flight: usize,
    done_to: Sender<Completion>,
    pub(super) done_from: Receiver<Completion>,
}

impl<'a, 'j, O: LineOrder> Reader<'a, 'j, O> {
    pub(super) fn new(job: &'j Job<'a, O>, block_pools: &'j Shelves, runs: &[Run]) -> Self {
        let mut forecast = Vec::with_capacity(runs.iter().map(|run| run.blocks().len()).sum());
        for (number, run) in runs.iter().enumerate() {
            forecast.extend((0..run.blocks().len()).map(|block| (number as u32, block as u32)));
        }
        let key = |&(run, block): &(u32, u32)| {
            (runs[run as usize].blocks()[block as usize].first_key, block, run)
        };
        forecast.sort_unstable_by_key(key);
        let (done_to, done_from) = unbounded();
        Reader { job, block_pools, forecast, forecast_at: 0, in_flight: 0, done_to, done_from }
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Starts as many reads as there is memory for; whether there was one.
    pub(super) fn start(&mut self, fronts: &mut [Front<'_>]) -> Result<bool, Error> {
        let mut has_read = false;
        for run in 0..fronts.len() {
            if fronts[run].is_starving() {
                has_read |= self.read(fronts, run)?;
            }
        }
        let reserved = |size| fronts.iter().map(|front| front.reserved(size)).sum::<usize>() + 1;
        let mut reserved = [reserved(Size::Short), reserved(Size::Long)];
        for run in 0..fronts.len() {
            let Front { run: Run::Sorted(_), loaded, .. } = &fronts[run] else { continue };
            // A long block is taken only when nothing goes on without it.
            let is_wanted =
                loaded.len() < SOURCE_BLOCKS && !fronts[run].needs_long && fronts[run].has_more();
            if is_wanted && self.is_spare(&fronts[run], Size::Short, &mut reserved) {
                has_read |= self.read(fronts, run)?;
            }
        }
        let in_flight_max = (FLIGHT_BYTES / self.job.plan.block_bytes).clamp(4, 256);
        while self.in_flight < in_flight_max {
            let Some(&(run, number)) = self.forecast.get(self.forecast_at) else { break };
            let (front, number) = (&fronts[run as usize], number as usize);
            if front.next_read == number {
                let size = front.size(&front.run.blocks()[number]);
                let is_spare = self.is_spare(front, size, &mut reserved);
                if !is_spare || !self.read(fronts, run as usize)? {
                    break;
                }
                has_read = true;
            }
            self.forecast_at += 1;
        }
        Ok(has_read)
    }

    /// Whether a run may have a block beside what must be left for all others; then what is left
    /// for it counts no more.
    fn is_spare(&self, front: &Front<'_>, size: Size, reserved: &mut [usize; 2]) -> bool {
        let own = front.reserved(size).min(1);
        let is_spare = self.block_pools.of(size).available() > reserved[size as usize] - own;
        if is_spare {
            reserved[size as usize] -= own;
        }
        is_spare
    }

    /// Starts to read a run's next block, if there is memory.
    fn read(&mut self, fronts: &mut [Front<'_>], run: usize) -> Result<bool, Error> {
        let front = &mut fronts[run];
        if let Run::Sorted(stream) = front.run {
            return self
                .read_source(front, &mut stream.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let block = &front.run.blocks()[front.next_read];
        let size = front.size(block);
        let block_pool = self.block_pools.of(size);
        let (lease, to) = if block.is_packed() {
            let Some(packed) = self.block_pools.packed.try_take() else { return Ok(false) };
            let Some(to) = block_pool.try_take() else { return Ok(false) };
            (packed, Some(to))
        } else {
            let Some(lease) = block_pool.try_take() else { return Ok(false) };
            (lease, None)
        };
        let bytes = block.paged_bytes() as usize;
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
        if size == Size::Long {
            front.long_left -= 1;
            front.long_held += 1;
        }
        front.arriving.push_back(Arriving::Reading(to));
        self.in_flight += 1;
        Ok(true)
    }

    fn read_source(
        &mut self,
        front: &mut Front<'_>,
        stream: &mut super::stream::Stream,
    ) -> Result<bool, Error> {
        let size = if front.needs_long { Size::Long } else { Size::Short };
        let Some(lease) = self.block_pools.of(size).try_take() else { return Ok(false) };
        match stream.read(lease, self.job.plan.block_bytes)? {
            Filled::Lines(loaded, lines) => {
                self.job.source_lines.fetch_add(lines, Relaxed);
                self.job.source_bytes.fetch_add(loaded.text().len() as u64, Relaxed);
                front.long_held += usize::from(size == Size::Long);
                front.needs_long = false;
                front.loaded.push_back(loaded);
            }
            // If this was a long block, nothing helps.
            Filled::Beginning => return Ok(!std::mem::replace(&mut front.needs_long, true)),
            Filled::Nothing => {}
        }
        Ok(true)
    }

    /// Takes a finished read in. What it returns has to be decompressed.
    pub(super) fn finish(
        &mut self,
        fronts: &mut [Front<'_>],
        completion: Completion,
    ) -> Result<Option<Packed>, Error> {
        self.in_flight -= 1;
        completion.result?;
        let (run, number) = ((completion.tag >> 32) as usize, completion.tag as u32 as usize);
        let front = &mut fronts[run];
        let block = &front.run.blocks()[number];
        let at = number + front.arriving.len() - front.next_read;
        if let Arriving::Reading(Some(_)) = front.arriving[at] {
            let Arriving::Reading(Some(to)) =
                std::mem::replace(&mut front.arriving[at], Arriving::Unpacking)
            else {
                unreachable!("it was just looked at");
            };
            self.in_flight += 1;
            return Ok(Some(Packed {
                run,
                number,
                place: block.place,
                checksum: block.checksum,
                packed: completion.lease,
                pages_bytes: completion.bytes,
                packed_bytes: block.packed_bytes as usize,
                to,
                bytes: block.bytes as usize,
            }));
        }
        let pages = &completion.lease[..completion.bytes];
        check_seal(self.job.disk, self.job.scratch()?, block.place, pages, block.checksum)?;
        self.arrived(fronts, run, number, completion.lease);
        Ok(None)
    }

    /// Takes a block in that was decompressed.
    pub(super) fn finish_unpacked(&mut self, fronts: &mut [Front<'_>], unpacked: Unpacked) {
        self.in_flight -= 1;
        self.arrived(fronts, unpacked.run, unpacked.number, unpacked.lease);
    }

    fn arrived(&mut self, fronts: &mut [Front<'_>], run: usize, number: usize, lease: Lease) {
        let front = &mut fronts[run];
        let block = &front.run.blocks()[number];
        let loaded = Loaded::new(lease, block.bytes as usize, block.last_line as usize);
        let at = number + front.arriving.len() - front.next_read;
        front.arriving[at] = Arriving::Here(Arc::new(loaded));
        while let Some(Arriving::Here(loaded)) =
            front.arriving.pop_front_if(|first| matches!(first, Arriving::Here(_)))
        {
            front.loaded.push_back(loaded);
        }
    }
}
