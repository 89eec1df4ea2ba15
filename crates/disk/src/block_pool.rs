//! A stock of leases of one size, handed out and taken back: how stages of a pipeline share a part
//! of the budget and brake one another.
//!
//! Last in, first out: the block that was given back last is the one whose cache lines and page
//! tables are warmest (1 MiB blocks over a few MiB of reused memory moved a third more bytes a
//! second than over 64 MiB).
//!
//! Not a channel: blocks carry no contents, and nobody is first in line. Waiters are woken one for
//! one block.

use crate::lease::Lease;
use crate::region::Piece;
use crate::{ALIGNMENT, Error};
use std::fmt;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A stock of leases of one size. A lease taken from a block pool goes back to it when dropped,
/// whoever drops it.
///
/// Leases keep their block pool alive, so the memory is freed once the block pool and all its
/// leases are gone.
pub struct BlockPool {
    block_bytes: usize,
    capacity: usize,
    stock: Mutex<Stock>,
    /// Signalled once for every piece that comes back, and for all at `close`.
    returned: Condvar,
}

struct Stock {
    /// Has room for `capacity` pieces from the start, so that `put_back` never allocates.
    pieces: Vec<Piece>,
    is_closed: bool,
    waiters: usize,
    waited: Duration,
}

impl BlockPool {
    /// Cuts `leases` into pieces of `block_bytes` (a multiple of the alignment); remainders are
    /// dropped.
    ///
    /// # Panics
    /// If `block_bytes` is 0 or not aligned, or a lease belongs to another block pool.
    pub fn new(leases: impl IntoIterator<Item = Lease>, block_bytes: usize) -> Arc<BlockPool> {
        assert!(
            block_bytes > 0 && block_bytes.is_multiple_of(ALIGNMENT),
            "blocks of {block_bytes} bytes would not be aligned to {ALIGNMENT}"
        );
        let mut pieces = Vec::new();
        for lease in leases {
            let mut rest = lease.into_piece();
            while rest.bytes() >= block_bytes {
                pieces.push(rest.split_off_front(block_bytes));
            }
        }
        // The last one in is the first one out: lowest addresses first.
        pieces.reverse();
        let capacity = pieces.len();
        let stock = Stock { pieces, is_closed: false, waiters: 0, waited: Duration::ZERO };
        Arc::new(BlockPool {
            block_bytes,
            capacity,
            stock: Mutex::new(stock),
            returned: Condvar::new(),
        })
    }

    /// A block pool of `blocks` blocks over a mapping of its own.
    ///
    /// # Errors
    /// As [`Lease::map`].
    pub fn map(blocks: usize, block_bytes: usize) -> Result<Arc<BlockPool>, Error> {
        Ok(BlockPool::new([Lease::map(blocks * block_bytes)?], block_bytes))
    }

    /// Size of each lease in bytes.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// How many leases the block pool was made with.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many leases are on the block pool now. Already history when it is read, if other threads
    /// use the block pool.
    pub fn available(&self) -> usize {
        self.lock().pieces.len()
    }

    /// Total time that callers have waited in [`take`](BlockPool::take), summed over threads; for
    /// reports. A take that finds a lease adds nothing.
    pub fn waited(&self) -> Duration {
        self.lock().waited
    }

    /// Takes a lease if one is there and the block pool is open.
    pub fn try_take(self: &Arc<Self>) -> Option<Lease> {
        let mut stock = self.lock();
        if stock.is_closed {
            return None;
        }
        let piece = stock.pieces.pop()?;
        drop(stock);
        piece.back(0..self.block_bytes);
        Some(Lease::of_block_pool(piece, Arc::clone(self)))
    }

    /// Takes a lease, waiting until one is there. `None` once the block pool was closed by
    /// [`close`](BlockPool::close).
    pub fn take(self: &Arc<Self>) -> Option<Lease> {
        let mut stock = self.lock();
        if stock.pieces.is_empty() && !stock.is_closed {
            // The clock is read only where a thread is about to sleep anyway.
            let since = Instant::now();
            stock.waiters += 1;
            while stock.pieces.is_empty() && !stock.is_closed {
                stock = self.returned.wait(stock).unwrap_or_else(PoisonError::into_inner);
            }
            stock.waiters -= 1;
            stock.waited += since.elapsed();
        }
        if stock.is_closed {
            return None;
        }
        let piece = stock.pieces.pop()?;
        drop(stock);
        piece.back(0..self.block_bytes);
        Some(Lease::of_block_pool(piece, Arc::clone(self)))
    }

    /// Wakes everyone who waits in `take` with `None`, now and from now on: the job is being given
    /// up. Leases still come home.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.returned.notify_all();
    }

    /// Takes all leases back out of the block pool as plain leases that no longer return to it, in
    /// the order of their addresses with neighbours joined: what went in whole comes out whole,
    /// less the remainders. The block pool is closed by it.
    ///
    /// # Panics
    /// Unless all are there.
    pub fn dissolve(self: Arc<Self>) -> Vec<Lease> {
        let mut stock = self.lock();
        assert_eq!(
            stock.pieces.len(),
            self.capacity,
            "a block_pool can be dissolved only when all its leases are home"
        );
        stock.is_closed = true;
        let mut pieces = mem::take(&mut stock.pieces);
        drop(stock);
        self.returned.notify_all();
        pieces.sort_unstable_by_key(|piece| piece.as_ptr());
        let mut leases: Vec<Lease> = Vec::new();
        for piece in pieces {
            let next = Lease::plain(piece);
            match leases.last_mut() {
                Some(last) if last.is_followed_by(&next) => last.join(next),
                _ => leases.push(next),
            }
        }
        leases
    }

    /// The way home of a dropped lease.
    pub(crate) fn put_back(&self, piece: Piece) {
        debug_assert_eq!(piece.bytes(), self.block_bytes);
        let mut stock = self.lock();
        debug_assert!(stock.pieces.len() < self.capacity);
        stock.pieces.push(piece);
        let is_awaited = stock.waiters > 0;
        drop(stock);
        if is_awaited {
            self.returned.notify_one();
        }
    }

    /// A panic elsewhere leaves the stock whole (no code of others runs under this lock), so poison
    /// is ignored: leases must come home even while a thread unwinds.
    fn lock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for BlockPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockPool")
            .field("block_bytes", &self.block_bytes)
            .field("available", &self.available())
            .field("capacity", &self.capacity)
            .finish()
    }
}
