//! One anonymous mapping and the ranges it is cut into. The only file of the crate's memory half
//! that needs `unsafe`.
//!
//! A [`MappedRange`] is the sole owner of its bytes: the ranges of one mapping never overlap,
//! because each is made from the whole mapping (`map`), by cutting a range in two
//! (`split_off_front`), or by joining two neighbours (`join`), and all three consume what they were
//! made from. That is the whole proof that `&mut [u8]` from `&mut MappedRange` is unique and that
//! ranges may move to other threads. Ranges share their mapping by `Arc`, so that cutting and
//! joining never allocate; the last one to be dropped unmaps it.
//!
//! Not an allocator: nothing here searches for free space, and a range grows only by `join`.
#![allow(unsafe_code)]

use crate::{ALIGNMENT, Error, Operation};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU8};
use std::time::Duration;

/// Mappings start on a huge page's boundary, so that the kernel can back them with huge pages from
/// the first byte.
const HUGE_PAGE_BYTES: usize = 2 << 20;

const _: () = assert!(HUGE_PAGE_BYTES.is_multiple_of(ALIGNMENT));

/// What the small pages in the place of a huge page take: 0.3 to 0.8 ms. A huge page takes 0.1 ms
/// where the system has it, and 4 to 5 ms where a virtual machine has given it back to its host
/// (docs/experiments/2026-11-21-first-touch.md).
const SMALL_PAGES_TIME: Duration = Duration::from_micros(600);
/// A mapping requests no more huge pages while they have taken so much longer than small ones would
/// have: less than one that the host has to find. What they saved before counts, up to as much.
const LOSS_MAX: Duration = Duration::from_millis(3);
/// So much of that is forgiven with the small pages in the place of a huge page. So huge pages are
/// tried again, and that they are slow costs a small share of the time.
const FORGIVEN: Duration = Duration::from_micros(25);
/// Smaller mappings aren't worth the calls.
const POPULATED_BYTES_MIN: usize = 16 * HUGE_PAGE_BYTES;
/// What other threads are asked to populate at a time: so many share a large range, and none is
/// busy with it for long.
const PREFAULT_BYTES: usize = 4 * HUGE_PAGE_BYTES;

/// Which pages a mapping gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// Huge pages, whatever they cost: for memory that is used again and again.
    HugePages,
    /// Huge pages as long as [`MappedRange::populate`] finds that they come as fast as small ones:
    /// for memory that is used once or twice.
    HugePagesIfFast,
}

/// What [`MappedRange::populate`] has requested of a mapping.
struct PopulatedPages {
    /// For each place of a huge page: [`NOTHING`], [`REQUESTED`], [`SMALL_PAGES`] or [`HUGE_PAGE`].
    states: Box<[AtomicU8]>,
    /// By how much longer huge pages took than small ones would have, in nanoseconds.
    loss: AtomicI64,
    /// To wait for pages that another thread has requested.
    lock: Mutex<()>,
    provided: Condvar,
}

const NOTHING: u8 = 0;
/// A thread waits for the system to provide them.
const REQUESTED: u8 = 1;
const SMALL_PAGES: u8 = 2;
const HUGE_PAGE: u8 = 3;

impl PopulatedPages {
    fn new(bytes: usize) -> PopulatedPages {
        PopulatedPages {
            states: (0..bytes / HUGE_PAGE_BYTES).map(|_| AtomicU8::new(NOTHING)).collect(),
            loss: AtomicI64::new(0),
            lock: Mutex::new(()),
            provided: Condvar::new(),
        }
    }

    /// Makes a place this thread's to populate. If another one populates it, waits for that: two
    /// threads that touch the same place would both have the system find a huge page for it.
    fn claim(&self, page: usize) -> bool {
        let state = &self.states[page];
        match state.compare_exchange(NOTHING, REQUESTED, Relaxed, Acquire) {
            Ok(_) => return true,
            Err(REQUESTED) => {}
            Err(_) => return false,
        }
        let mut lock = self.lock.lock();
        while state.load(Acquire) == REQUESTED {
            self.provided.wait(&mut lock);
        }
        false
    }

    /// A claimed place has its pages.
    fn provide(&self, page: usize, pages: u8) {
        self.states[page].store(pages, Release);
        // Whoever has seen the old state holds the lock until it waits.
        drop(self.lock.lock());
        self.provided.notify_all();
    }

    /// Whether small pages take the place of huge ones now.
    fn is_slow(&self) -> bool {
        self.loss.load(Relaxed) > LOSS_MAX.as_nanos() as i64
    }
}

/// An anonymous private mapping, unmapped on drop.
struct Region {
    start: NonNull<u8>,
    bytes: usize,
    populated: Option<PopulatedPages>,
}

// SAFETY: a Region is an address range of the process, not tied to the thread that mapped it;
// nobody reads or writes bytes through a Region (only through MappedRanges), so sharing `&Region`
// shares two plain numbers and atomics.
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
            Backing::HugePages => Advice::LinuxHugepage,
            Backing::HugePagesIfFast => Advice::LinuxNoHugepage,
        };
        for advice in [pages, Advice::LinuxDontFork] {
            // SAFETY: the range is the mapping just made; neither advice changes the bytes in this
            // process.
            let _ = unsafe { madvise(start, bytes, advice) };
        }
        let start =
            NonNull::new(start.cast::<u8>()).expect("the kernel never maps address 0 unasked");
        let is_populated = backing == Backing::HugePagesIfFast && bytes >= POPULATED_BYTES_MIN;
        let populated = is_populated.then(|| PopulatedPages::new(bytes));
        Ok(Region { start, bytes, populated })
    }

    /// Requests the huge pages that a range touches, if they lie within the mapping and weren't
    /// requested before. Where they are slow, small pages take their place: a call for 512 of them
    /// takes two thirds of the time of 512 faults.
    #[cfg(not(miri))]
    fn populate(&self, range: Range<usize>) {
        use rustix::mm::{Advice, madvise};
        let Some(pages) = &self.populated else { return };
        let end = range.end.div_ceil(HUGE_PAGE_BYTES).min(pages.states.len());
        for page in range.start / HUGE_PAGE_BYTES..end {
            if !pages.claim(page) {
                continue;
            }
            let is_slow = pages.is_slow();
            let start = self.start.as_ptr().wrapping_add(page * HUGE_PAGE_BYTES).cast();
            let begun = thread_time();
            let advices = [Advice::LinuxHugepage, Advice::LinuxPopulateWrite];
            for &advice in &advices[usize::from(is_slow)..] {
                // SAFETY: a whole huge page within the mapping (page < states.len() = bytes /
                // HUGE_PAGE_BYTES). Neither advice changes bytes, not even those of neighbours who
                // use them now: the one is a preference, the other a write fault without a write.
                let _ = unsafe { madvise(start, HUGE_PAGE_BYTES, advice) };
            }
            pages.provide(page, if is_slow { SMALL_PAGES } else { HUGE_PAGE });
            if is_slow {
                forgive(&pages.loss);
            } else {
                count_loss(&pages.loss, thread_time().saturating_sub(begun));
            }
        }
    }

    #[cfg(miri)]
    fn populate(&self, _: Range<usize>) {}

    /// Requests the memory of a range that starts with a page, whatever was requested before.
    #[cfg(not(miri))]
    fn touch(&self, range: Range<usize>) {
        use rustix::mm::{Advice, madvise};
        let start = self.start.as_ptr().wrapping_add(range.start).cast();
        // SAFETY: pages within the mapping, which the caller promises by a range of it. The advice
        // is a write fault without a write: it changes no bytes.
        let _ = unsafe { madvise(start, range.len(), Advice::LinuxPopulateWrite) };
    }

    #[cfg(miri)]
    fn touch(&self, _: Range<usize>) {}

    /// Replaces the small pages of a range by huge ones of zeros, but for those at its ends.
    ///
    /// # Safety
    /// The range must lie within the mapping, and the caller must own its bytes.
    #[cfg(not(miri))]
    unsafe fn renew(&self, range: Range<usize>) {
        use rustix::mm::{Advice, madvise};
        let Some(PopulatedPages { states, .. }) = &self.populated else { return };
        let pages = range.start.div_ceil(HUGE_PAGE_BYTES)..range.end / HUGE_PAGE_BYTES;
        for page in pages.filter(|&page| states[page].swap(HUGE_PAGE, Relaxed) != HUGE_PAGE) {
            let start = self.start.as_ptr().wrapping_add(page * HUGE_PAGE_BYTES).cast();
            for advice in [Advice::LinuxDontNeed, Advice::LinuxHugepage, Advice::LinuxPopulateWrite]
            {
                // SAFETY: a whole huge page within the range, whose bytes nobody else uses: the
                // caller promises both. Its bytes become zeros, which are valid bytes.
                let _ = unsafe { madvise(start, HUGE_PAGE_BYTES, advice) };
            }
        }
    }

    #[cfg(miri)]
    unsafe fn renew(&self, _: Range<usize>) {}

    /// Miri interprets no system calls of ours; the heap stands in for the mapping.
    #[cfg(miri)]
    fn map(bytes: usize, _: Backing) -> io::Result<Region> {
        let layout =
            std::alloc::Layout::from_size_align(bytes, ALIGNMENT).expect("bytes are page-sized");
        // SAFETY: the layout's size is not zero (asserted by the caller, MappedRange::map).
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
            .ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Region { start, bytes, populated: None })
    }
}

/// Adds what a huge page took beyond the time of small ones; less, if it took less.
#[cfg(not(miri))]
fn count_loss(loss: &AtomicI64, taken: Duration) {
    let more = taken.as_nanos() as i64 - SMALL_PAGES_TIME.as_nanos() as i64;
    let least = -(LOSS_MAX.as_nanos() as i64);
    let _ = loss.fetch_update(Relaxed, Relaxed, |loss| Some((loss + more).max(least)));
}

/// Takes off what is forgiven with the small pages in the place of a huge page.
#[cfg(not(miri))]
fn forgive(loss: &AtomicI64) {
    loss.fetch_sub(FORGIVEN.as_nanos() as i64, Relaxed);
}

/// The processor time of this thread. That of the clock would count other threads' turns as well.
#[cfg(not(miri))]
fn thread_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

impl Drop for Region {
    #[cfg(not(miri))]
    fn drop(&mut self) {
        // SAFETY: exactly the range that `map` returned; the last MappedRange that could reach it
        // is gone, since each holds an Arc.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of our own mapping: {unmapped:?}");
    }

    #[cfg(miri)]
    fn drop(&mut self) {
        let layout = std::alloc::Layout::from_size_align(self.bytes, ALIGNMENT).expect("as in map");
        // SAFETY: allocated in `map` with the same layout; the last MappedRange is gone.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) };
    }
}

/// A request for the memory of some bytes, which another thread than their owner's can make
/// meanwhile: the bytes don't change, and it can't reach them. It keeps the mapping alive.
pub struct Prefault {
    region: Arc<Region>,
    range: Range<usize>,
}

impl Prefault {
    /// Requests the memory, but for what was requested before.
    pub fn populate(self) {
        match self.region.populated {
            Some(_) => self.region.populate(self.range),
            None => self.region.touch(self.range),
        }
    }
}

/// A part of a mapping, aligned to [`ALIGNMENT`] at both ends, whose bytes only its owner can
/// reach.
pub(crate) struct MappedRange {
    /// Invariant: with a region, `[start, start + bytes)` lies within it and no other range
    /// overlaps it; without one, `bytes` is 0.
    start: NonNull<u8>,
    bytes: usize,
    region: Option<Arc<Region>>,
}

// SAFETY: a MappedRange owns its bytes exclusively (see the head of this file), like a Box<[u8]>.
unsafe impl Send for MappedRange {}
// SAFETY: `&MappedRange` gives out `&[u8]` only.
unsafe impl Sync for MappedRange {}

impl MappedRange {
    /// Maps `bytes`, rounded up to the alignment; at least one page.
    pub(crate) fn map(bytes: usize, backing: Backing) -> Result<MappedRange, Error> {
        let region = bytes
            .max(1)
            .checked_next_multiple_of(ALIGNMENT)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
            .and_then(|bytes| Region::map(bytes, backing))
            .map_err(|source| Error::new(Operation::Map, "", source))?;
        Ok(MappedRange { start: region.start, bytes: region.bytes, region: Some(Arc::new(region)) })
    }

    /// No bytes of no mapping: what stays behind when a range is moved out of a field.
    pub(crate) const fn empty() -> MappedRange {
        MappedRange { start: NonNull::dangling(), bytes: 0, region: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Requests memory for these bytes, if the mapping is [`Backing::HugePagesIfFast`].
    ///
    /// # Panics
    /// If they are beyond the end.
    pub(crate) fn populate(&self, range: Range<usize>) {
        if let Some((region, range)) = self.place(range) {
            region.populate(range);
        }
    }

    /// The same, piece by piece, for other threads to do.
    pub(crate) fn prefault(&self, range: Range<usize>) -> impl Iterator<Item = Prefault> {
        self.place(range).into_iter().flat_map(|(region, range)| {
            range.clone().step_by(PREFAULT_BYTES).map(move |start| {
                let end = range.end.min(start + PREFAULT_BYTES);
                Prefault { region: Arc::clone(region), range: start..end }
            })
        })
    }

    /// Where in its region these bytes are.
    fn place(&self, range: Range<usize>) -> Option<(&Arc<Region>, Range<usize>)> {
        assert!(range.end <= self.bytes, "can't populate {range:?} of {} bytes", self.bytes);
        let region = self.region.as_ref()?;
        let from = self.start.addr().get() - region.start.addr().get();
        Some((region, from + range.start..from + range.end))
    }

    /// Replaces small pages by huge ones of zeros, if the mapping is [`Backing::HugePagesIfFast`].
    pub(crate) fn renew(&mut self) {
        let Some(region) = &self.region else { return };
        let from = self.start.addr().get() - region.start.addr().get();
        // SAFETY: the range lies within its region (invariant), and `&mut self` is the only way to
        // its bytes.
        unsafe { region.renew(from..from + self.bytes) }
    }

    /// Cuts the first `bytes` off.
    ///
    /// # Panics
    /// Unless `bytes` is a multiple of the alignment and at most the length.
    pub(crate) fn split_off_front(&mut self, bytes: usize) -> MappedRange {
        assert!(
            bytes.is_multiple_of(ALIGNMENT),
            "a range of {bytes} bytes would not be aligned to {ALIGNMENT}"
        );
        assert!(bytes <= self.bytes, "can't split {bytes} bytes off a range of {}", self.bytes);
        let front = MappedRange { start: self.start, bytes, region: self.region.clone() };
        // SAFETY: bytes <= self.bytes was asserted above, so the new start is inside the region or
        // one past its end.
        self.start = unsafe { self.start.byte_add(bytes) };
        self.bytes -= bytes;
        front
    }

    /// Whether `next` begins where `self` ends, in the same mapping.
    pub(crate) fn is_followed_by(&self, next: &MappedRange) -> bool {
        let same = match (&self.region, &next.region) {
            (Some(mine), Some(other)) => Arc::ptr_eq(mine, other),
            _ => false,
        };
        same && self.start.addr().get() + self.bytes == next.start.addr().get()
    }

    /// Appends `next`'s bytes.
    ///
    /// # Panics
    /// Unless `self.is_followed_by(&next)`.
    pub(crate) fn join(&mut self, next: MappedRange) {
        assert!(self.is_followed_by(&next), "joined ranges must be neighbours in one mapping");
        // Both ranges lie in the one region that both hold (the invariant), and `next` gives its
        // range up here.
        self.bytes += next.bytes;
    }
}

impl std::ops::Deref for MappedRange {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the range is ours alone (invariant) and mapped as long as `region` is held; bytes
        // are initialised, since anonymous memory begins as zeroes. A dangling start comes only
        // with length 0.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl std::ops::DerefMut for MappedRange {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is the only way to the bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn slow_pages_are_a_loss_unless_many_fast_ones_came_before() {
        let loss_after = |micros: &[u64]| {
            let loss = AtomicI64::new(0);
            micros.iter().for_each(|&micros| count_loss(&loss, Duration::from_micros(micros)));
            Duration::try_from_secs_f64(loss.into_inner() as f64 / 1e9).unwrap_or_default()
        };
        assert!(loss_after(&[5000]) > LOSS_MAX, "the first one is enough");
        let pages: Vec<u64> = [100; 8].into_iter().chain([5000]).collect();
        assert!(loss_after(&pages) < LOSS_MAX);
        let pages: Vec<u64> = [100; 1000].into_iter().chain([5000; 2]).collect();
        assert!(loss_after(&pages) > LOSS_MAX, "what was saved long ago is forgotten");
    }

    #[test]
    fn a_huge_page_is_tried_again_after_some_dozens_of_small_ones() {
        let loss = AtomicI64::new(0);
        count_loss(&loss, Duration::from_millis(5));
        let is_slow = |_: &usize| {
            forgive(&loss);
            loss.load(Relaxed) > LOSS_MAX.as_nanos() as i64
        };
        let places = (0..1000).take_while(is_slow).count();
        assert!((24..100).contains(&places), "{places}");
    }
}
