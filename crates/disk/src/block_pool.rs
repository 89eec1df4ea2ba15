//! A pool of blocks of one size. The stages of a pipeline share a part of the memory budget through
//! it, and slow each other down when it runs out.
//!
//! Unlike a channel, it passes no contents between threads and keeps no queue of waiters. Each
//! block that returns wakes one waiter.

use crate::free_list::FreeList;
use crate::lease::Lease;
use crate::region::MappedRange;
use crate::{ALIGNMENT, Error};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A pool of blocks of one size. A taken block is a [`Lease`], which returns to the pool when it is
/// dropped, in any thread.
///
/// The memory is freed once the pool and all of its leases are gone.
pub struct BlockPool {
    free: Arc<FreeList>,
}

impl BlockPool {
    /// Cuts `leases` into blocks of `block_bytes` (a multiple of the alignment) and drops the
    /// remainders.
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
        // Last in, first out: reversed, so that the lowest addresses are taken first.
        blocks.reverse();
        Arc::new(BlockPool { free: Arc::new(FreeList::new(blocks, block_bytes)) })
    }

    /// Creates a pool of `blocks` blocks of `block_bytes` bytes in a new mapping.
    ///
    /// # Errors
    /// If the memory can't be mapped, as for [`Lease::map`].
    pub fn map(blocks: usize, block_bytes: usize) -> Result<Arc<BlockPool>, Error> {
        Ok(BlockPool::new([Lease::map(blocks * block_bytes)?], block_bytes))
    }

    /// Size of each block in bytes.
    pub fn block_bytes(&self) -> usize {
        self.free.block_bytes()
    }

    /// Number of blocks in the pool, free or taken.
    pub fn capacity(&self) -> usize {
        self.free.capacity()
    }

    /// Number of free blocks. The value may already be stale if other threads use the pool.
    pub fn available(&self) -> usize {
        self.free.available()
    }

    /// Total time for which callers have waited in [`take`](BlockPool::take), summed over all
    /// threads. For reports. A `take` that finds a free block adds nothing.
    pub fn waited(&self) -> Duration {
        self.free.waited()
    }

    /// Takes a block if one is free and the pool is open.
    pub fn try_take(&self) -> Option<Lease> {
        let block = self.free.try_take()?;
        Some(self.lease(block))
    }

    /// Takes a block, waiting until one is free. Returns `None` once [`close`](BlockPool::close)
    /// was called.
    pub fn take(&self) -> Option<Lease> {
        let block = self.free.take()?;
        Some(self.lease(block))
    }

    fn lease(&self, block: MappedRange) -> Lease {
        block.populate(0..block.bytes());
        Lease::of_free_list(block, Arc::clone(&self.free))
    }

    /// Makes every current and later [`take`](BlockPool::take) return `None`, because the job is
    /// being abandoned. Leases can still be dropped.
    pub fn close(&self) {
        self.free.close();
    }

    /// Closes the pool and turns its blocks into plain leases that no longer return to it. They are
    /// ordered by address, and neighbours are joined: each lease given to [`new`](BlockPool::new)
    /// comes back whole, less its remainder.
    ///
    /// # Panics
    /// If a block is still taken.
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
