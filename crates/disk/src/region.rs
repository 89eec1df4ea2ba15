//! One anonymous mapping and the pieces it is cut into. The only file of the memory half that needs
//! `unsafe`.
//!
//! A [`Piece`] is the sole owner of its bytes: pieces of one mapping never overlap, because each is
//! made either from the whole mapping (`map`), by cutting one piece in two (`split_off_front`), or
//! by merging two neighbours (`join`), and all three consume what they were made from. That is the
//! whole proof that `&mut [u8]` from `&mut Piece` is unique and that pieces may go to other
//! threads. The mapping is unmapped when its last piece is dropped: pieces share it by `Arc`, so
//! that cutting and joining never allocate.
//!
//! Not an allocator: nothing here looks for free space, and a piece never grows but by `join`.
#![allow(unsafe_code)]

use crate::{ALIGNMENT, Error, Operation};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

/// Mappings start on a huge page's boundary, so that the kernel can back them with huge pages from
/// the first byte.
const HUGE_PAGE_BYTES: usize = 2 << 20;

const _: () = assert!(HUGE_PAGE_BYTES.is_multiple_of(ALIGNMENT));

/// A huge page that takes longer than this to get would have been faster in small ones: those take
/// 0.3 to 0.7 ms, a huge page 0.1 ms where the system has it, and 4 ms where a virtual machine has
/// given it back to its host (docs/experiments/2026-11-21-first-touch.md).
const SLOW: Duration = Duration::from_millis(1);
/// After so many of them no more are asked for. One may have been an interruption.
const SLOW_MAX: usize = 2;
/// Smaller mappings aren't worth the calls.
const AT_HAND_BYTES_MIN: usize = 16 * HUGE_PAGE_BYTES;

/// Where memory is to come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// In huge pages, whatever they cost: for memory that is used again and again.
    Huge,
    /// In huge pages as long as [`Piece::back`] finds that they come as fast as small ones: for
    /// memory that is used once or twice.
    AtHand,
}

/// Which huge pages of a mapping [`Piece::back`] has asked for, and whether it goes on asking.
struct AtHand {
    asked: Box<[AtomicBool]>,
    /// Huge pages that took long.
    slow: AtomicUsize,
}

/// An anonymous private mapping, unmapped on drop.
struct Region {
    start: NonNull<u8>,
    bytes: usize,
    at_hand: Option<AtHand>,
}

// SAFETY: a Region is an address range of the process, not tied to the thread that mapped it;
// nobody reads or writes bytes through a Region (only through Pieces), so sharing `&Region` shares
// two plain numbers.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    #[cfg(not(miri))]
    fn map(bytes: usize, backing: Backing) -> io::Result<Region> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
        assert!(bytes > 0 && bytes.is_multiple_of(ALIGNMENT));
        // mmap aligns to 4 KiB only: map up to one huge page more and give the two ends back.
        let slack = if bytes >= HUGE_PAGE_BYTES { HUGE_PAGE_BYTES } else { 0 };
        let mapped = bytes.checked_add(slack).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let head = if slack == 0 {
            0
        } else {
            base.addr().next_multiple_of(HUGE_PAGE_BYTES) - base.addr()
        };
        let start = base.wrapping_byte_add(head);
        for (at, len) in [(base, head), (start.wrapping_byte_add(bytes), slack - head)] {
            if len > 0 {
                // SAFETY: both ends lie within the mapping just made (head <= slack, mapped =
                // bytes + slack), outside of [start, start + bytes), and nobody has seen their
                // addresses.
                unsafe { munmap(at, len)? };
            }
        }
        // Huge pages: the first touch of 4 KiB pages costs 0.43-0.8 GB/s a thread, and each direct
        // transfer pins 512 times as many pages: reads were half as fast and cost six times the
        // processor time (docs/experiments/2026-11-21-engine-knobs.md). No copy in a forked child:
        // a fork under direct I/O would else copy the whole budget. Both are preferences; a kernel
        // without them is as correct.
        let pages = match backing {
            Backing::Huge => Advice::LinuxHugepage,
            Backing::AtHand => Advice::LinuxNoHugepage,
        };
        for advice in [pages, Advice::LinuxDontFork] {
            // SAFETY: the range is the mapping just made; neither advice changes the bytes in this
            // process.
            let _ = unsafe { madvise(start, bytes, advice) };
        }
        let start =
            NonNull::new(start.cast::<u8>()).expect("the kernel never maps address 0 unasked");
        let at_hand = (backing == Backing::AtHand && bytes >= AT_HAND_BYTES_MIN).then(|| AtHand {
            asked: (0..bytes / HUGE_PAGE_BYTES).map(|_| AtomicBool::new(false)).collect(),
            slow: AtomicUsize::new(0),
        });
        Ok(Region { start, bytes, at_hand })
    }

    /// Gets memory for the huge pages that a range touches, if they lie in the mapping and weren't
    /// asked for before.
    #[cfg(not(miri))]
    fn back(&self, range: Range<usize>) {
        use rustix::mm::{Advice, madvise};
        let Some(AtHand { asked, slow }) = &self.at_hand else { return };
        let end = range.end.div_ceil(HUGE_PAGE_BYTES).min(asked.len());
        for page in range.start / HUGE_PAGE_BYTES..end {
            if slow.load(Relaxed) >= SLOW_MAX {
                return;
            }
            if asked[page].swap(true, Relaxed) {
                continue;
            }
            let start = self.start.as_ptr().wrapping_add(page * HUGE_PAGE_BYTES).cast();
            let begun = Instant::now();
            for advice in [Advice::LinuxHugepage, Advice::LinuxPopulateWrite] {
                // SAFETY: a whole huge page within the mapping (page < asked.len() = bytes /
                // HUGE_PAGE_BYTES). Neither advice changes bytes, not even those of neighbours who
                // use them now: the one is a preference, the other a write fault without a write.
                let _ = unsafe { madvise(start, HUGE_PAGE_BYTES, advice) };
            }
            if begun.elapsed() > SLOW {
                slow.fetch_add(1, Relaxed);
            }
        }
    }

    #[cfg(miri)]
    fn back(&self, _: Range<usize>) {}

    /// Miri interprets no system calls of ours; the heap stands in for the mapping.
    #[cfg(miri)]
    fn map(bytes: usize, _: Backing) -> io::Result<Region> {
        let layout =
            std::alloc::Layout::from_size_align(bytes, ALIGNMENT).expect("bytes are page-sized");
        // SAFETY: the layout's size is not zero (asserted by the caller, Piece::map).
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
            .ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Region { start, bytes, at_hand: None })
    }
}

impl Drop for Region {
    #[cfg(not(miri))]
    fn drop(&mut self) {
        // SAFETY: exactly the range that `map` kept; the last piece that could reach it is gone,
        // since each holds an Arc.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of our own mapping: {unmapped:?}");
    }

    #[cfg(miri)]
    fn drop(&mut self) {
        let layout = std::alloc::Layout::from_size_align(self.bytes, ALIGNMENT).expect("as in map");
        // SAFETY: allocated in `map` with the same layout; the last piece is gone.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) };
    }
}

/// A part of a mapping, aligned to [`ALIGNMENT`] at both ends, whose bytes only its owner can
/// reach.
pub(crate) struct Piece {
    /// Invariant: with a region, `[start, start + bytes)` lies within it and no other piece
    /// overlaps it; without one, `bytes` is 0.
    start: NonNull<u8>,
    bytes: usize,
    region: Option<Arc<Region>>,
}

// SAFETY: a Piece owns its bytes exclusively (see the head of this file), like a Box<[u8]>.
unsafe impl Send for Piece {}
// SAFETY: `&Piece` gives out `&[u8]` only.
unsafe impl Sync for Piece {}

impl Piece {
    /// Maps `bytes`, rounded up to the alignment; at least one page.
    pub(crate) fn map(bytes: usize, backing: Backing) -> Result<Piece, Error> {
        let region = bytes
            .max(1)
            .checked_next_multiple_of(ALIGNMENT)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
            .and_then(|bytes| Region::map(bytes, backing))
            .map_err(|source| Error::new(Operation::Map, "", source))?;
        Ok(Piece { start: region.start, bytes: region.bytes, region: Some(Arc::new(region)) })
    }

    /// No bytes of no mapping: what is left behind when a piece is moved out of a place.
    pub(crate) const fn empty() -> Piece {
        Piece { start: NonNull::dangling(), bytes: 0, region: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gets memory for what of these bytes has none, if the mapping is [`Backing::AtHand`].
    ///
    /// # Panics
    /// If they are beyond the piece's end.
    pub(crate) fn back(&self, range: Range<usize>) {
        assert!(range.end <= self.bytes, "can't back {range:?} of a piece of {}", self.bytes);
        if let Some(region) = &self.region {
            let from = self.start.addr().get() - region.start.addr().get();
            region.back(from + range.start..from + range.end);
        }
    }

    /// Cuts the first `bytes` off.
    ///
    /// # Panics
    /// Unless `bytes` is a multiple of the alignment and at most the length.
    pub(crate) fn split_off_front(&mut self, bytes: usize) -> Piece {
        assert!(
            bytes.is_multiple_of(ALIGNMENT),
            "a piece of {bytes} bytes would not be aligned to {ALIGNMENT}"
        );
        assert!(bytes <= self.bytes, "can't split {bytes} bytes off a piece of {}", self.bytes);
        let front = Piece { start: self.start, bytes, region: self.region.clone() };
        // SAFETY: bytes <= self.bytes was asserted above, so the new start is inside the region or
        // one past its end.
        self.start = unsafe { self.start.byte_add(bytes) };
        self.bytes -= bytes;
        front
    }

    /// Whether `next` begins where `self` ends, in the same mapping.
    pub(crate) fn is_followed_by(&self, next: &Piece) -> bool {
        let same = match (&self.region, &next.region) {
            (Some(mine), Some(other)) => Arc::ptr_eq(mine, other),
            _ => false,
        };
        same && self.start.addr().get() + self.bytes == next.start.addr().get()
    }

    /// Takes `next`'s bytes in at the end.
    ///
    /// # Panics
    /// Unless `self.is_followed_by(&next)`.
    pub(crate) fn join(&mut self, next: Piece) {
        assert!(self.is_followed_by(&next), "joined pieces must be neighbours in one mapping");
        // Both ranges lie in the one region that both hold (the invariant), and `next` gives its
        // range up here.
        self.bytes += next.bytes;
    }
}

impl std::ops::Deref for Piece {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the range is ours alone (invariant) and mapped as long as `region` is held; bytes
        // are initialised, since anonymous memory begins as zeroes. A dangling start comes only
        // with length 0.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl std::ops::DerefMut for Piece {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is the only way to the bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}
