//! Memory by lease: one mapping, cut into ranges that are owned by value.
//!
//! A [`Lease`] is to the memory budget what a `Box<[u8]>` is to the heap: whoever holds it owns the
//! bytes, and drops it to give them back. A plain lease keeps its mapping alive and nothing more;
//! one that was taken from a [`BlockPool`](crate::BlockPool) returns there. So the budget holds by
//! construction: nothing is counted, because memory that isn't leased can't be touched.
//!
//! Not a buffer with a length in use: how many of its bytes mean something, only the holder knows.

use crate::free_list::FreeList;
use crate::region::{Backing, MappedRange, Prefault};
use crate::{ALIGNMENT, Error};
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// A range of one anonymous mapping, aligned to [`ALIGNMENT`], owned by whoever holds it.
///
/// Moving, splitting, joining and dropping a lease allocate nothing.
pub struct Lease {
    range: MappedRange,
    /// The free blocks that the range returns to on drop, if it is a block of a pool.
    pool: Option<Arc<FreeList>>,
}

impl Lease {
    /// Maps `bytes` (rounded up to the alignment) of zeroed anonymous memory, in huge pages where
    /// the system has them. The mapping lives until the last lease of it is dropped.
    ///
    /// The system provides the memory on first touch, not here.
    ///
    /// # Errors
    /// [`Operation::Map`](crate::Operation::Map) if the address space or a limit (`ulimit -v`)
    /// doesn't allow it.
    pub fn map(bytes: usize) -> Result<Lease, Error> {
        MappedRange::map(bytes, Backing::HugePages).map(Lease::plain)
    }

    /// As [`map`](Lease::map), for memory that is used only once or twice: in huge pages only where
    /// [`populate`](Lease::populate) is called, and only as long as the system provides them
    /// quickly. In a virtual machine a huge page often costs more than the work done in it, because
    /// the host must find the memory first.
    ///
    /// # Errors
    /// As [`map`](Lease::map).
    pub fn map_huge_if_fast(bytes: usize) -> Result<Lease, Error> {
        MappedRange::map(bytes, Backing::HugePagesIfFast).map(Lease::plain)
    }

    /// Announces that these bytes are about to be used. In a mapping by
    /// [`map_huge_if_fast`](Lease::map_huge_if_fast) the system provides them now, in huge pages
    /// as long as these come fast, then in small ones. The bytes don't change.
    ///
    /// # Panics
    /// If they are beyond the end.
    pub fn populate(&self, range: Range<usize>) {
        self.range.populate(range);
    }

    /// The same, piece by piece, for other threads to do while this one already fills the bytes.
    ///
    /// # Panics
    /// As [`populate`](Lease::populate).
    pub fn prefault(&self, range: Range<usize>) -> impl Iterator<Item = Prefault> {
        self.range.prefault(range)
    }

    /// Announces that these bytes will be used again and again, unlike it seemed when
    /// [`map_huge_if_fast`](Lease::map_huge_if_fast) mapped them: they get huge pages, whatever
    /// that costs. What they hold may be lost: they are what they were, or zeros.
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

    /// Takes the first `bytes` (a multiple of the alignment, at most the length) off as a lease of
    /// its own; `self` keeps the rest, which may be empty.
    ///
    /// # Panics
    /// If `bytes` is not aligned or too large, or if `self` belongs to a block pool.
    pub fn split_off_front(&mut self, bytes: usize) -> Lease {
        self.assert_plain("can't be split: its pool would never get it back whole");
        Lease::plain(self.range.split_off_front(bytes))
    }

    /// Joins `next`, which must begin where `self` ends in the same mapping.
    ///
    /// # Panics
    /// If the two are not neighbours, or one belongs to a block pool.
    pub fn join(&mut self, next: Lease) {
        self.assert_plain("can't grow: its pool holds blocks of one size");
        self.range.join(next.into_range());
    }

    /// Whether `next` begins where `self` ends in the same mapping, so that [`join`](Lease::join)
    /// accepts it. Leases of block pools have neighbours too, but can't be joined.
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
    /// Address and length: the bytes would be megabytes of noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(self.range.bytes().is_multiple_of(ALIGNMENT));
        f.debug_struct("Lease")
            .field("start", &self.range.as_ptr())
            .field("bytes", &self.range.bytes())
            .field("of_block_pool", &self.pool.is_some())
            .finish()
    }
}
