//! A pool of blocks of one size: how the stages of a pipeline share a part of the memory budget,
//! and slow each other down when it runs out.
//!
//! Not a channel: blocks carry no contents, and there is no queue of waiters. Each block that comes
//! back wakes one of them.

use crate::free_list::FreeList;
use crate::lease::Lease;
use crate::region::MappedRange;
use crate::{ALIGNMENT, Error};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Blocks of one size, each of them a [`Lease`] while it is taken. A lease returns to the pool when
/// it is dropped, whoever drops it.
///
/// The memory is freed once the pool and all of its leases are gone.
pub struct BlockPool {
    free: Arc<FreeList>,
}

impl BlockPool {
    /// Cuts `leases` into blocks of `block_bytes` (a multiple of the alignment); remainders are
    /// dropped.
    ///
    /// # Panics
    /// If `block_bytes` is 0 or not aligned, or a lease belongs to another block pool.
    pub fn new(leases: impl IntoIterator<Item = Lease>, block_bytes: usize) -> Arc<BlockPool> {
        assert!(
            block_bytes > 0 && block_bytes.is_multiple_of(ALIGNMENT),
            "blocks of {block_bytes} bytes would not be aligned to {ALIGNMENT}"
        );
        let mut blocks = Vec::new();
        for lease in leases {
            let mut rest = lease.into_range();
            while rest.bytes() >= block_bytes {
                blocks.push(rest.split_off_front(block_bytes));
            }
        }
        // The last one in is the first one out: lowest addresses first.
        blocks.reverse();
        Arc::new(BlockPool { free: Arc::new(FreeList::new(blocks, block_bytes)) })
    }

    /// A block pool of `blocks` blocks over a mapping of its own.
    ///
    /// # Errors
    /// As [`Lease::map`].
    pub fn map(blocks: usize, block_bytes: usize) -> Result<Arc<BlockPool>, Error> {
        Ok(BlockPool::new([Lease::map(blocks * block_bytes)?], block_bytes))
    }

    /// Size of each block in bytes.
    pub fn block_bytes(&self) -> usize {
        self.free.block_bytes()
    }

    /// How many blocks the pool was made with.
    pub fn capacity(&self) -> usize {
        self.free.capacity()
    }

    /// How many blocks are free now. Out of date when it is read, if other threads use the pool.
    pub fn available(&self) -> usize {
        self.free.available()
    }

    /// Total time that callers have waited in [`take`](BlockPool::take), summed over threads; for
    /// reports. A `take` that finds a free block adds nothing.
    pub fn waited(&self) -> Duration {
        self.free.waited()
    }

    /// Takes a block if one is free and the pool is open.
    pub fn try_take(&self) -> Option<Lease> {
        let block = self.free.try_take()?;
        Some(self.lease(block))
    }

    /// Takes a block, waiting until one is free. `None` once the pool was closed by
    /// [`close`](BlockPool::close).
    pub fn take(&self) -> Option<Lease> {
        let block = self.free.take()?;
        Some(self.lease(block))
    }

    fn lease(&self, block: MappedRange) -> Lease {
        block.populate(0..block.bytes());
        Lease::of_free_list(block, Arc::clone(&self.free))
    }

    /// Makes every [`take`](BlockPool::take) return `None`, those that wait now and all later ones:
    /// the job is being given up. Leases can still be dropped.
    pub fn close(&self) {
        self.free.close();
    }

    /// Turns the pool's blocks into plain leases that no longer return to it, in the order of their
    /// addresses and with neighbours joined: what went in whole comes out whole, less the
    /// remainders. Closes the pool.
    ///
    /// # Panics
    /// Unless all blocks are free.
    pub fn dissolve(self: Arc<Self>) -> Vec<Lease> {
        let mut blocks = self.free.dissolve();
        blocks.sort_unstable_by_key(|block| block.as_ptr());
        let mut leases: Vec<Lease> = Vec::new();
        for block in blocks {
            let next = Lease::plain(block);
            match leases.last_mut() {
                Some(last) if last.is_followed_by(&next) => last.join(next),
                _ => leases.push(next),
            }
        }
        leases
    }
}

impl fmt::Debug for BlockPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockPool")
            .field("block_bytes", &self.block_bytes())
            .field("available", &self.available())
            .field("capacity", &self.capacity())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_freed_with_the_pool_and_all_of_its_leases() {
        let pool = BlockPool::map(2, ALIGNMENT).unwrap();
        let free = Arc::downgrade(&pool.free);
        let (first, second) = (pool.take(), pool.take());
        drop((pool, first));
        assert!(free.upgrade().is_some());
        drop(second);
        assert!(free.upgrade().is_none());
    }
}
