//! Memory by lease: one mapping, cut into ranges that are owned by value.
//!
//! A [`Lease`] is to the memory budget what a `Box<[u8]>` is to the heap: its holder owns the
//! bytes, and drops it to return them. A plain lease only keeps its mapping alive; one taken from a
//! [`BlockPool`](crate::BlockPool) returns there. So the budget holds by construction: nothing is
//! counted, because memory that isn't leased can't be touched.
//!
//! A lease has no length in use: only its holder knows which of its bytes are meaningful.

use crate::free_list::FreeList;
use crate::region::{Backing, MappedRange, Prefault};
use crate::{ALIGNMENT, Error};
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// A range of an anonymous mapping, aligned to [`ALIGNMENT`] and owned by the lease's holder.
///
/// Moving, splitting, joining and dropping a lease allocate nothing.
pub struct Lease {
    range: MappedRange,
    /// The free list to which the range returns on drop, if it is a block of a pool.
    pool: Option<Arc<FreeList>>,
}

impl Lease {
    /// Maps `bytes` bytes (rounded up to the alignment) of zeroed anonymous memory, in huge pages
    /// if the system has them. The mapping lives until its last lease is dropped.
    ///
    /// The system provides the memory on first touch, not in this call.
    ///
    /// # Errors
    /// [`Operation::Map`](crate::Operation::Map) if the address space or a limit (`ulimit -v`)
    /// doesn't allow it.
    pub fn map(bytes: usize) -> Result<Lease, Error> {
        MappedRange::map(bytes, Backing::HugePages).map(Lease::plain)
    }

    /// Maps memory that is used only once or twice. Like [`map`](Lease::map), but huge pages are
    /// used only where [`populate`](Lease::populate) is called, and only as long as the system
    /// provides them quickly. In a virtual machine a huge page often costs more than the work done
    /// in it, because the host must find the memory first.
    ///
    /// # Errors
    /// [`Operation::Map`](crate::Operation::Map), as in [`map`](Lease::map).
    pub fn map_huge_if_fast(bytes: usize) -> Result<Lease, Error> {
        MappedRange::map(bytes, Backing::HugePagesIfFast).map(Lease::plain)
    }

    /// Announces that the bytes of `range` are about to be used. In a mapping by
    /// [`map_huge_if_fast`](Lease::map_huge_if_fast) the system provides them now: in huge pages as
    /// long as these come fast, then in small ones. The bytes don't change.
    ///
    /// # Panics
    /// If the range goes beyond the end of the lease.
    pub fn populate(&self, range: Range<usize>) {
        self.range.populate(range);
    }

    /// Returns the steps of a [`populate`](Lease::populate) of `range`, for other threads to run
    /// while this one already fills the bytes.
    ///
    /// # Panics
    /// If the range goes beyond the end of the lease.
    pub fn prefault(&self, range: Range<usize>) -> impl Iterator<Item = Prefault> {
        self.range.prefault(range)
    }

    /// Gives the lease huge pages at any cost, because its bytes will be used repeatedly after all.
    /// For a mapping by [`map_huge_if_fast`](Lease::map_huge_if_fast). The content may be lost:
    /// each byte keeps its value or becomes zero.
    pub fn renew(&mut self) {
        self.range.renew();
    }

    pub(crate) fn plain(range: MappedRange) -> Lease {
        Lease { range, pool: None }
    }

    pub(crate) fn of_free_list(block: MappedRange, pool: Arc<FreeList>) -> Lease {
        Lease { range: block, pool: Some(pool) }
    }

    pub(crate) fn into_range(mut self) -> MappedRange {
        self.assert_plain("can't be cut up or joined: its pool would never get it back");
        mem::replace(&mut self.range, MappedRange::empty())
    }

    /// Splits off the first `bytes` bytes (a multiple of the alignment, at most the length) as a
    /// new lease. `self` keeps the rest, which may be empty.
    ///
    /// # Panics
    /// If `bytes` is not aligned or too large, or if `self` belongs to a block pool.
    pub fn split_off_front(&mut self, bytes: usize) -> Lease {
        self.assert_plain("can't be split: its pool would never get it back whole");
        Lease::plain(self.range.split_off_front(bytes))
    }

    /// Appends `next`, which must begin where `self` ends in the same mapping.
    ///
    /// # Panics
    /// If the two are not neighbours, or one belongs to a block pool.
    pub fn join(&mut self, next: Lease) {
        self.assert_plain("can't grow: its pool holds blocks of one size");
        self.range.join(next.into_range());
    }

    /// Returns whether `next` begins where `self` ends in the same mapping, so that
    /// [`join`](Lease::join) accepts it. Leases of block pools have neighbours too, but can't be
    /// joined.
    pub fn is_followed_by(&self, next: &Lease) -> bool {
        self.range.is_followed_by(&next.range)
    }

    fn assert_plain(&self, why: &str) {
        assert!(self.pool.is_none(), "a lease of a block pool {why}");
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.put_back(mem::replace(&mut self.range, MappedRange::empty()));
        }
    }
}

impl Deref for Lease {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.range
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.range
    }
}

impl fmt::Debug for Lease {
    /// Writes address and length only: the bytes would be megabytes of noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(self.range.bytes().is_multiple_of(ALIGNMENT));
        f.debug_struct("Lease")
            .field("start", &self.range.as_ptr())
            .field("bytes", &self.range.bytes())
            .field("of_block_pool", &self.pool.is_some())
            .finish()
    }
}
