//! The free blocks of a block pool, shared with the leases that were taken from it.
//!
//! A file of its own so that a lease can return its memory without knowing the pool.
//!
//! Last in, first out: the block that was given back last is the one whose cache lines and page
//! tables are warmest (1 MiB blocks over a few MiB of reused memory moved a third more bytes a
//! second than over 64 MiB).

use crate::region::MappedRange;
use parking_lot::{Condvar, Mutex};
use std::mem;
use std::time::{Duration, Instant};

/// A stack of free blocks, all of `block_bytes`.
pub(crate) struct FreeList {
    block_bytes: usize,
    capacity: usize,
    state: Mutex<State>,
    /// Signalled once for every block that comes back, and for all waiters at `close`.
    returned: Condvar,
}

struct State {
    /// Allocated for `capacity` blocks from the start, so that `put_back` never allocates.
    blocks: Vec<MappedRange>,
    is_closed: bool,
    waiters: usize,
    waited: Duration,
}

impl FreeList {
    /// All blocks are free; the last one is the first to be taken.
    pub(crate) fn new(blocks: Vec<MappedRange>, block_bytes: usize) -> FreeList {
        let capacity = blocks.len();
        let state = State { blocks, is_closed: false, waiters: 0, waited: Duration::ZERO };
        FreeList { block_bytes, capacity, state: Mutex::new(state), returned: Condvar::new() }
    }

    pub(crate) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Blocks in all, free or taken.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Blocks that are free now.
    pub(crate) fn available(&self) -> usize {
        self.state.lock().blocks.len()
    }

    /// Time that callers of `take` have waited, summed over threads.
    pub(crate) fn waited(&self) -> Duration {
        self.state.lock().waited
    }

    /// A block, if one is free and the list is open.
    pub(crate) fn try_take(&self) -> Option<MappedRange> {
        let mut state = self.state.lock();
        if state.is_closed { None } else { state.blocks.pop() }
    }

    /// A block, once one is free; `None` once the list is closed.
    pub(crate) fn take(&self) -> Option<MappedRange> {
        let mut state = self.state.lock();
        if state.blocks.is_empty() && !state.is_closed {
            // The clock is read only where a thread is about to sleep anyway.
            let since = Instant::now();
            state.waiters += 1;
            while state.blocks.is_empty() && !state.is_closed {
                self.returned.wait(&mut state);
            }
            state.waiters -= 1;
            state.waited += since.elapsed();
        }
        if state.is_closed { None } else { state.blocks.pop() }
    }

    /// Returns a block, and wakes one waiter for it.
    pub(crate) fn put_back(&self, block: MappedRange) {
        debug_assert_eq!(block.bytes(), self.block_bytes);
        let mut state = self.state.lock();
        debug_assert!(state.blocks.len() < self.capacity);
        state.blocks.push(block);
        let is_awaited = state.waiters > 0;
        drop(state);
        if is_awaited {
            self.returned.notify_one();
        }
    }

    /// From now on nothing is taken, and nobody waits. Blocks can still be put back.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.returned.notify_all();
    }

    /// Closes the list and empties it, if all of its blocks are free.
    ///
    /// # Panics
    /// If a block is still taken.
    pub(crate) fn dissolve(&self) -> Vec<MappedRange> {
        let mut state = self.state.lock();
        let free = state.blocks.len();
        assert_eq!(free, self.capacity, "a block pool is dissolved only when all blocks are free");
        state.is_closed = true;
        let blocks = mem::take(&mut state.blocks);
        drop(state);
        self.returned.notify_all();
        blocks
    }
}
