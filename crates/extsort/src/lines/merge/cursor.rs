//! The position of a merge in one run, and the run's blocks that are in memory or being read.

use super::super::block::{LoadedBlock, SpilledBlock};
use super::super::run::Run;
use super::memory::{BlockSize, SORTED_INPUT_BLOCKS};
use crate::Error;
use std::collections::VecDeque;
use std::collections::vec_deque::Drain;
use std::sync::Arc;
use xsort_disk::Lease;

/// A block whose read was started.
pub(crate) enum Arriving {
    /// Being read. A compressed block has memory to decompress it into.
    Reading(Option<Lease>),
    Decompressing,
    /// A block of a sorted input that is being checked.
    Checking,
    /// A block of a sorted input that isn't in order.
    Refused(Error),
    Loaded(Arc<LoadedBlock>),
}

/// A position in a run on scratch: the number of blocks before it, and the bytes of the next block
/// before it. Not used for runs in memory.
pub(crate) type RunPosition = (usize, usize);

/// The position of a merge in one run.
pub(crate) struct RunCursor<'r> {
    pub(crate) run: &'r Run,
    block_bytes: usize,
    /// The next block to read.
    pub(crate) next_read: usize,
    /// On scratch: the number of long blocks still to be read.
    long_left: usize,
    /// Blocks that are being read, or that wait for an earlier one.
    arriving: VecDeque<Arriving>,
    /// Blocks in memory, from the merge's position on.
    pub(crate) loaded: VecDeque<Arc<LoadedBlock>>,
    /// Long blocks among `arriving` and `loaded`.
    long_held: usize,
    /// Blocks that are merged, or in segments that are being merged.
    passed: usize,
    /// Bytes of the first block in `loaded` that are merged. In a run in memory, its position.
    pub(crate) offset: usize,
    /// True if a sorted input's next line is longer than a short block.
    pub(crate) needs_long: bool,
}

impl<'r> RunCursor<'r> {
    /// A cursor at the beginning of a run. Blocks of more than `block_bytes` bytes are long.
    pub(crate) fn new(run: &'r Run, block_bytes: usize) -> Self {
        let is_long = |block: &&SpilledBlock| block.bytes > block_bytes as u64;
        RunCursor {
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

    /// The merge's position.
    pub(crate) fn position(&self) -> RunPosition {
        (self.passed, self.offset)
    }

    /// Moves to a position, before anything is read.
    pub(crate) fn seek(&mut self, (blocks, offset): RunPosition) {
        let is_long = |block: &&SpilledBlock| block.bytes > self.block_bytes as u64;
        self.long_left -= self.run.blocks()[..blocks].iter().filter(is_long).count();
        (self.next_read, self.passed, self.offset) = (blocks, blocks, offset);
    }

    /// True if there are lines that are not in memory.
    pub(crate) fn has_more(&self) -> bool {
        match self.run {
            Run::InMemory(_) => false,
            Run::OnScratch(blocks) => self.next_read < blocks.len() || !self.arriving.is_empty(),
            Run::Sorted(_) => self.is_readable() || !self.arriving.is_empty(),
        }
    }

    /// True if there are lines of a sorted input that were not read.
    pub(crate) fn is_readable(&self) -> bool {
        matches!(self.run, Run::Sorted(input) if !input.lock().is_over())
    }

    /// Number of blocks that are in memory or arriving.
    pub(crate) fn held(&self) -> usize {
        self.loaded.len() + self.arriving.len()
    }

    /// True if there are lines in memory that are not merged.
    pub(crate) fn has_loaded(&self) -> bool {
        match self.run {
            Run::InMemory(chunk) => self.offset < chunk.end(),
            Run::OnScratch(_) | Run::Sorted(_) => !self.loaded.is_empty(),
        }
    }

    /// Takes the next `blocks` blocks, which belong to the next segment.
    pub(crate) fn take(&mut self, blocks: usize) -> Drain<'_, Arc<LoadedBlock>> {
        let is_long = |loaded: &&Arc<LoadedBlock>| loaded.memory().len() > self.block_bytes;
        self.passed += blocks;
        self.long_held -= self.loaded.iter().take(blocks).filter(is_long).count();
        self.loaded.drain(..blocks)
    }

    /// True if the merge waits for a block of this run and none is being read.
    pub(crate) fn is_starving(&self) -> bool {
        self.has_more() && self.loaded.is_empty() && self.arriving.is_empty()
    }

    /// The size of memory that a block needs.
    pub(crate) fn size(&self, block: &SpilledBlock) -> BlockSize {
        if block.bytes > self.block_bytes as u64 { BlockSize::Long } else { BlockSize::Short }
    }

    /// Number of blocks of a size that must stay free for this run.
    pub(crate) fn reserved(&self, size: BlockSize) -> usize {
        let held = self.held();
        match (self.run, size) {
            (Run::InMemory(_), _) | (Run::Sorted(_), BlockSize::Long) => 0,
            (Run::Sorted(_), BlockSize::Short) if self.is_readable() => {
                SORTED_INPUT_BLOCKS.saturating_sub(held)
            }
            (Run::Sorted(_), BlockSize::Short) => 0,
            (Run::OnScratch(blocks), BlockSize::Short) => {
                let is_needed = blocks.len() - self.next_read > self.long_left;
                usize::from(is_needed && held == self.long_held)
            }
            (Run::OnScratch(_), BlockSize::Long) => {
                usize::from(self.long_left > 0 && self.long_held == 0)
            }
        }
    }

    /// Adds a block whose read was started.
    pub(crate) fn start_read(&mut self, size: BlockSize, to: Option<Lease>) {
        self.next_read += 1;
        if size == BlockSize::Long {
            self.long_left -= 1;
            self.long_held += 1;
        }
        self.arriving.push_back(Arriving::Reading(to));
    }

    /// The entry of a block whose read was started.
    pub(crate) fn arriving_block(&mut self, number: usize) -> &mut Arriving {
        let first = self.next_read - self.arriving.len();
        &mut self.arriving[number - first]
    }

    /// Takes the run's block of this number, which was read.
    pub(crate) fn finish_read(
        &mut self,
        number: usize,
        lease: Lease,
        delimiter: u8,
    ) -> Result<(), Error> {
        let block = &self.run.blocks()[number];
        let loaded = LoadedBlock::new(lease, block.bytes as usize, block.last_line as usize);
        loaded.check(delimiter, if number == self.passed { self.offset } else { 0 })?;
        *self.arriving_block(number) = Arriving::Loaded(Arc::new(loaded));
        self.take_arrived()
    }

    /// Takes the blocks that have arrived, in their order.
    fn take_arrived(&mut self) -> Result<(), Error> {
        loop {
            match self.arriving.pop_front() {
                Some(Arriving::Loaded(loaded)) => self.loaded.push_back(loaded),
                Some(Arriving::Refused(error)) => return Err(error),
                Some(arriving) => {
                    self.arriving.push_front(arriving);
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
    }

    /// Adds a block of a sorted input that must be checked. Returns its number.
    pub(crate) fn start_check(&mut self, size: BlockSize) -> usize {
        self.long_held += usize::from(size == BlockSize::Long);
        self.needs_long = false;
        self.next_read += 1;
        self.arriving.push_back(Arriving::Checking);
        self.next_read - 1
    }

    /// Takes the block of this number, which was checked.
    ///
    /// # Errors
    ///
    /// The error of the first block that isn't in order.
    pub(crate) fn finish_check(
        &mut self,
        number: usize,
        checked: Result<Arc<LoadedBlock>, Error>,
    ) -> Result<(), Error> {
        *self.arriving_block(number) = match checked {
            Ok(loaded) => Arriving::Loaded(loaded),
            Err(error) => Arriving::Refused(error),
        };
        self.take_arrived()
    }

    /// Takes a block that a sorted input was read into.
    pub(crate) fn push_loaded(&mut self, loaded: Arc<LoadedBlock>, size: BlockSize) {
        self.long_held += usize::from(size == BlockSize::Long);
        self.needs_long = false;
        self.loaded.push_back(loaded);
    }
}
