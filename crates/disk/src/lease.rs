//! Memory by lease: one mapping, cut into pieces that are owned by value.

use crate::Error;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A piece of one anonymous mapping, aligned to [`ALIGNMENT`](crate::ALIGNMENT), owned by whoever holds it.
#[derive(Debug)]
pub struct Lease {}

impl Lease {
    /// Maps `bytes` (rounded up to the alignment) of zeroed anonymous memory, in huge pages where the system has them. The
    /// mapping lives until its last piece is dropped.
    pub fn map(bytes: usize) -> Result<Lease, Error> {
        let _ = bytes;
        unimplemented!()
    }

    /// Takes the first `bytes` (a multiple of the alignment, at most the length) off as a lease of its own; `self` keeps the rest,
    /// which may be empty. Panics if `self` belongs to a shelf.
    pub fn split_off_front(&mut self, bytes: usize) -> Lease {
        let _ = bytes;
        unimplemented!()
    }

    /// Joins `next`, which must begin where `self` ends in the same mapping; otherwise panics.
    pub fn join(&mut self, next: Lease) {
        let _ = next;
        unimplemented!()
    }
}

impl Deref for Lease {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        unimplemented!()
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut [u8] {
        unimplemented!()
    }
}

/// A stock of leases of one size. A lease taken from a shelf goes back to it when dropped, whoever drops it.
#[derive(Debug)]
pub struct Shelf {}

impl Shelf {
    /// Cuts `leases` into pieces of `block_bytes` (a multiple of the alignment); remainders are dropped.
    pub fn new(leases: impl IntoIterator<Item = Lease>, block_bytes: usize) -> Arc<Shelf> {
        let _ = (leases.into_iter(), block_bytes);
        unimplemented!()
    }
    /// Size of each lease in bytes.
    pub fn block_bytes(&self) -> usize {
        unimplemented!()
    }
    /// How many leases the shelf was made with.
    pub fn capacity(&self) -> usize {
        unimplemented!()
    }
    /// Takes a lease if one is there.
    pub fn try_take(self: &Arc<Self>) -> Option<Lease> {
        unimplemented!()
    }
    /// Takes a lease, waiting until one is there. `None` once the shelf was closed by `close`.
    pub fn take(self: &Arc<Self>) -> Option<Lease> {
        unimplemented!()
    }
    /// Wakes everyone who waits in `take` with `None`, now and from now on: the job is being given up.
    pub fn close(&self) {
        unimplemented!()
    }
    /// Takes all leases back out of the shelf as plain leases that no longer return to it. Panics unless all are there.
    pub fn dissolve(self: Arc<Self>) -> Vec<Lease> {
        unimplemented!()
    }
}
