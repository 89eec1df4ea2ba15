//! Memory by lease: one mapping, cut into pieces that are owned by value.
//!
//! A [`Lease`] is to pool memory what a `Box<[u8]>` is to the heap: whoever holds it owns the
//! bytes, and dropping it is giving it back. Where it goes depends on where it comes from: a plain
//! lease keeps its mapping alive and nothing more; one that was taken from a
//! [`BlockPool`](crate::BlockPool) returns there. So the budget is true by construction: nothing is
//! counted, because memory that isn't leased can't be touched.
//!
//! Not a buffer with a length in use: how many of its bytes mean something is the holder's
//! knowledge.

use crate::block_pool::BlockPool;
use crate::region::{Backing, Piece};
use crate::{ALIGNMENT, Error};
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// A piece of one anonymous mapping, aligned to [`ALIGNMENT`], owned by whoever holds it.
///
/// Moving, splitting, joining and dropping a lease allocate nothing.
pub struct Lease {
    piece: Piece,
    /// The block pool that the piece goes back to on drop.
    home: Option<Arc<BlockPool>>,
}

impl Lease {
    /// Maps `bytes` (rounded up to the alignment) of zeroed anonymous memory, in huge pages where
    /// the system has them. The mapping lives until its last piece is dropped.
    ///
    /// Memory is taken from the system on first touch, not here.
    ///
    /// # Errors
    /// [`Operation::Map`](crate::Operation::Map) if the address space or a limit (`ulimit -v`)
    /// doesn't allow it.
    pub fn map(bytes: usize) -> Result<Lease, Error> {
        Piece::map(bytes, Backing::Huge).map(Lease::plain)
    }

    /// The same for memory that is used only once or twice: in huge pages only where
    /// [`back`](Lease::back) is called, and while the system has them at hand. In a virtual machine
    /// huge pages are often dearer than what is done with them: its host must find the memory
    /// first.
    ///
    /// # Errors
    /// As [`map`](Lease::map).
    pub fn map_at_hand(bytes: usize) -> Result<Lease, Error> {
        Piece::map(bytes, Backing::AtHand).map(Lease::plain)
    }

    /// Says that these bytes are about to be used. Of a mapping by
    /// [`map_at_hand`](Lease::map_at_hand) they are taken from the system now, in huge pages, if
    /// these come fast; the bytes don't change.
    ///
    /// # Panics
    /// If they are beyond the end.
    pub fn back(&self, range: Range<usize>) {
        self.piece.back(range);
    }

    pub(crate) fn plain(piece: Piece) -> Lease {
        Lease { piece, home: None }
    }

    pub(crate) fn of_block_pool(piece: Piece, home: Arc<BlockPool>) -> Lease {
        Lease { piece, home: Some(home) }
    }

    pub(crate) fn into_piece(mut self) -> Piece {
        assert!(
            self.home.is_none(),
            "a lease of a block_pool can't be cut up or joined: its block_pool would never get it back"
        );
        mem::replace(&mut self.piece, Piece::empty())
    }

    /// Takes the first `bytes` (a multiple of the alignment, at most the length) off as a lease of
    /// its own; `self` keeps the rest, which may be empty.
    ///
    /// # Panics
    /// If `bytes` is not aligned or too large, or if `self` belongs to a block pool.
    pub fn split_off_front(&mut self, bytes: usize) -> Lease {
        assert!(
            self.home.is_none(),
            "a lease of a block_pool can't be split: its block_pool would never get it back whole"
        );
        Lease::plain(self.piece.split_off_front(bytes))
    }

    /// Joins `next`, which must begin where `self` ends in the same mapping.
    ///
    /// # Panics
    /// If the two are not neighbours, or one belongs to a block pool.
    pub fn join(&mut self, next: Lease) {
        assert!(
            self.home.is_none(),
            "a lease of a block_pool can't grow: its block_pool holds leases of one size"
        );
        self.piece.join(next.into_piece());
    }

    /// Whether `next` begins where `self` ends in the same mapping, so that [`join`](Lease::join)
    /// accepts it. Leases of block pools have neighbours too, but can't be joined.
    pub fn is_followed_by(&self, next: &Lease) -> bool {
        self.piece.is_followed_by(&next.piece)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.put_back(mem::replace(&mut self.piece, Piece::empty()));
        }
    }
}

impl Deref for Lease {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.piece
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.piece
    }
}

impl fmt::Debug for Lease {
    /// Address and length: the bytes would be megabytes of noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(self.piece.bytes().is_multiple_of(ALIGNMENT));
        f.debug_struct("Lease")
            .field("start", &self.piece.as_ptr())
            .field("bytes", &self.piece.bytes())
            .field("of_block_pool", &self.home.is_some())
            .finish()
    }
}
