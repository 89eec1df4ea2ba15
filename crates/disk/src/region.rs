//! One anonymous mapping and the ranges it is cut into. The only file of the crate's memory half
//! that needs `unsafe`.
//!
//! A [`MappedRange`] is the sole owner of its bytes. The ranges of one mapping never overlap,
//! because a range comes from the whole mapping (`map`), from cutting a range in two
//! (`split_off_front`), or from joining two neighbours (`join`), and all three consume their
//! source. This is the whole proof that `&mut [u8]` from `&mut MappedRange` is unique and that
//! ranges may move to other threads. Ranges share their mapping by `Arc`, so that cutting and
//! joining never allocate. The last range to be dropped unmaps it.
//!
//! It is not an allocator: it doesn't search for free space, and a range grows only by `join`.
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

/// Mappings start at a huge page's boundary, so that the kernel can use huge pages from the first
/// byte.
const HUGE_PAGE_BYTES: usize = 2 << 20;

const _: () = assert!(HUGE_PAGE_BYTES.is_multiple_of(ALIGNMENT));

/// Time to provide the small pages that fill a huge page's place: 0.3 to 0.8 ms. A huge page takes
/// 0.1 ms if the system has one, and 4 to 5 ms if a virtual machine has returned it to its host
/// (docs/experiments/2026-11-21-first-touch.md).
const SMALL_PAGES_TIME: Duration = Duration::from_micros(600);
/// A mapping stops requesting huge pages once they have taken this much longer than small ones
/// would have: less than one page that the host has to find. Time saved earlier counts, up to the
/// same amount.
const LOSS_MAX: Duration = Duration::from_millis(3);
/// Part of that loss which is forgiven each time small pages fill a huge page's place. So huge
/// pages are tried again, and slow ones cost only a small share of the time.
const FORGIVEN: Duration = Duration::from_micros(25);
/// Smaller mappings aren't worth the calls.
const POPULATED_BYTES_MIN: usize = 16 * HUGE_PAGE_BYTES;
/// Bytes of one step that other threads populate: small enough for several threads to share a large
/// range without keeping any of them busy for long.
const PREFAULT_BYTES: usize = 4 * HUGE_PAGE_BYTES;

/// The kind of pages that a mapping gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// Huge pages at any cost, for memory that is used repeatedly.
    HugePages,
    /// Huge pages as long as [`MappedRange::populate`] finds them as fast as small ones, for memory
    /// that is used once or twice.
    HugePagesIfFast,
}

/// What [`MappedRange::populate`] has requested for a mapping.
struct PopulatedPages {
    /// The state of each huge page's place: [`NOTHING`], [`REQUESTED`], [`SMALL_PAGES`] or
    /// [`HUGE_PAGE`].
    states: Box<[AtomicU8]>,
    /// Time that huge pages took beyond the time of small ones, in nanoseconds.
    loss: AtomicI64,
    /// For waiting for pages that another thread has requested.
    lock: Mutex<()>,
    provided: Condvar,
}

const NOTHING: u8 = 0;
/// A thread waits for the system to provide the pages.
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

    /// Claims a place for this thread to populate. If another thread is populating it, waits for
    /// that and returns false: if two threads touched one place, the system would find a huge page
    /// for each.
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

    /// Records that a claimed place has its pages.
    fn provide(&self, page: usize, pages: u8) {
        self.states[page].store(pages, Release);
        // A thread that has seen the old state holds the lock until it waits.
        drop(self.lock.lock());
        self.provided.notify_all();
    }

    /// Returns whether small pages are used now because huge ones are slow.
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

// SAFETY: a Region is an address range of the process, not tied to the thread that mapped it. Bytes
// are accessed only through MappedRanges, never through a Region, so sharing `&Region` shares two
// plain numbers and atomics.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    #[cfg(not(miri))]
    fn map(bytes: usize, backing: Backing) -> io::Result<Region> {
        use crate::system::{Advice, advise};
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        assert!(bytes > 0 && bytes.is_multiple_of(ALIGNMENT));
        // mmap aligns to 4 KiB only: map up to one huge page more and unmap both ends.
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
                // SAFETY: both ends lie within the new mapping (head <= slack, mapped = bytes +
                // slack), outside of [start, start + bytes), and no other code knows their
                // addresses.
                unsafe { munmap(at, len)? };
            }
        }
        // Huge pages: the first touch of 4 KiB pages costs 0.43-0.8 GB/s per thread, and each
        // direct transfer pins 512 times as many pages. Reads were half as fast and cost six times
        // the processor time (docs/experiments/2026-11-21-engine-knobs.md). No copy in a forked
        // child: otherwise a fork during direct I/O would copy the whole budget. Both are
        // preferences: without them the program is slower and still correct.
        let pages = match backing {
            Backing::HugePages => Advice::HugePages,
            Backing::HugePagesIfFast => Advice::SmallPages,
        };
        for advice in [pages, Advice::NotInChildren] {
            // SAFETY: the range is the new mapping; neither advice changes its bytes in this
            // process.
            unsafe { advise(start, bytes, advice) };
        }
        let start =
            NonNull::new(start.cast::<u8>()).expect("the kernel never maps address 0 unasked");
        let is_populated = backing == Backing::HugePagesIfFast && bytes >= POPULATED_BYTES_MIN;
        let populated = is_populated.then(|| PopulatedPages::new(bytes));
        Ok(Region { start, bytes, populated })
    }

    /// Requests the huge pages that a range touches, except those outside the mapping or requested
    /// before. If huge pages are slow, it requests small ones: one call for 512 of them takes two
    /// thirds of the time of 512 faults.
    #[cfg(not(miri))]
    fn populate(&self, range: Range<usize>) {
        use crate::system::{Advice, advise};
        let Some(pages) = &self.populated else { return };
        let end = range.end.div_ceil(HUGE_PAGE_BYTES).min(pages.states.len());
        for page in range.start / HUGE_PAGE_BYTES..end {
            if !pages.claim(page) {
                continue;
            }
            let is_slow = pages.is_slow();
            let start = self.start.as_ptr().wrapping_add(page * HUGE_PAGE_BYTES).cast();
            let begun = thread_time();
            let advices = [Advice::HugePages, Advice::Populate];
            for &advice in &advices[usize::from(is_slow)..] {
                // SAFETY: a whole huge page within the mapping (page < states.len() = bytes /
                // HUGE_PAGE_BYTES). Neither advice changes bytes, not even bytes that neighbours
                // are using now: one is a preference, the other a write fault without a write.
                unsafe { advise(start, HUGE_PAGE_BYTES, advice) };
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

    /// Requests the memory of a range that starts at a page, whatever was requested earlier.
    #[cfg(not(miri))]
    fn touch(&self, range: Range<usize>) {
        use crate::system::{Advice, advise};
        let start = self.start.as_ptr().wrapping_add(range.start).cast();
        // SAFETY: pages within the mapping, which the caller guarantees by owning a range of it.
        // The advice is a write fault without a write: it changes no bytes.
        unsafe { advise(start, range.len(), Advice::Populate) };
    }

    #[cfg(miri)]
    fn touch(&self, _: Range<usize>) {}

    /// Replaces the small pages of a range by zeroed huge pages, except the parts of huge pages at
    /// its ends.
    ///
    /// # Safety
    /// The range must lie within the mapping, and the caller must own its bytes.
    #[cfg(not(miri))]
    unsafe fn renew(&self, range: Range<usize>) {
        use crate::system::{Advice, advise};
        let Some(PopulatedPages { states, .. }) = &self.populated else { return };
        let pages = range.start.div_ceil(HUGE_PAGE_BYTES)..range.end / HUGE_PAGE_BYTES;
        for page in pages.filter(|&page| states[page].swap(HUGE_PAGE, Relaxed) != HUGE_PAGE) {
            let start = self.start.as_ptr().wrapping_add(page * HUGE_PAGE_BYTES).cast();
            for advice in [Advice::Forget, Advice::HugePages, Advice::Populate] {
                // SAFETY: a whole huge page within the range, whose bytes no other code uses; the
                // caller guarantees both. Its bytes become zeros, which are valid bytes.
                unsafe { advise(start, HUGE_PAGE_BYTES, advice) };
            }
        }
    }

    #[cfg(miri)]
    unsafe fn renew(&self, _: Range<usize>) {}

    /// Miri doesn't interpret these system calls; the heap stands in for the mapping.
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

/// Adds the time that a huge page took beyond that of small ones. Subtracts if it took less.
#[cfg(not(miri))]
fn count_loss(loss: &AtomicI64, taken: Duration) {
    let more = taken.as_nanos() as i64 - SMALL_PAGES_TIME.as_nanos() as i64;
    let least = -(LOSS_MAX.as_nanos() as i64);
    let _ = loss.fetch_update(Relaxed, Relaxed, |loss| Some((loss + more).max(least)));
}

/// Subtracts the loss that is forgiven when small pages fill a huge page's place.
#[cfg(not(miri))]
fn forgive(loss: &AtomicI64) {
    loss.fetch_sub(FORGIVEN.as_nanos() as i64, Relaxed);
}

/// Returns this thread's processor time. Wall-clock time would include other threads' turns.
#[cfg(not(miri))]
fn thread_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

impl Drop for Region {
    #[cfg(not(miri))]
    fn drop(&mut self) {
        // SAFETY: exactly the range that `map` returned. Each MappedRange holds an Arc, so the last
        // one that could reach it is gone.
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

/// A request to provide memory for a range. A thread other than the range's owner may carry it out
/// at any time: it can't access the bytes, and they don't change. It keeps the mapping alive.
pub struct Prefault {
    region: Arc<Region>,
    range: Range<usize>,
}

impl Prefault {
    /// Requests the memory, except for pages requested before.
    pub fn populate(self) {
        match self.region.populated {
            Some(_) => self.region.populate(self.range),
            None => self.region.touch(self.range),
        }
    }
}

/// A part of a mapping, aligned to [`ALIGNMENT`] at both ends, whose bytes only its owner can
/// access.
pub(crate) struct MappedRange {
    /// Invariant: with a region, `[start, start + bytes)` lies within it and no other range
    /// overlaps it; without one, `bytes` is 0.
    start: NonNull<u8>,
    bytes: usize,
    region: Option<Arc<Region>>,
}

// SAFETY: a MappedRange owns its bytes exclusively (see the top of this file), like a Box<[u8]>.
unsafe impl Send for MappedRange {}
// SAFETY: `&MappedRange` only gives access to `&[u8]`.
unsafe impl Sync for MappedRange {}

impl MappedRange {
    /// Maps `bytes` bytes, rounded up to the alignment; at least one page.
    pub(crate) fn map(bytes: usize, backing: Backing) -> Result<MappedRange, Error> {
        let region = bytes
            .max(1)
            .checked_next_multiple_of(ALIGNMENT)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
            .and_then(|bytes| Region::map(bytes, backing))
            .map_err(Operation::Map.failed_on(""))?;
        Ok(MappedRange { start: region.start, bytes: region.bytes, region: Some(Arc::new(region)) })
    }

    /// Returns an empty range without a mapping, which replaces a range that is moved out of a
    /// field.
    pub(crate) const fn empty() -> MappedRange {
        MappedRange { start: NonNull::dangling(), bytes: 0, region: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Requests memory for a range of these bytes, if the mapping is [`Backing::HugePagesIfFast`].
    ///
    /// # Panics
    /// If the range goes beyond the end.
    pub(crate) fn populate(&self, range: Range<usize>) {
        if let Some((region, range)) = self.place(range) {
            region.populate(range);
        }
    }

    /// Returns the steps of a request for memory for a range, to be carried out by other threads.
    pub(crate) fn prefault(&self, range: Range<usize>) -> impl Iterator<Item = Prefault> {
        self.place(range).into_iter().flat_map(|(region, range)| {
            range.clone().step_by(PREFAULT_BYTES).map(move |start| {
                let end = range.end.min(start + PREFAULT_BYTES);
                Prefault { region: Arc::clone(region), range: start..end }
            })
        })
    }

    /// Returns the region and the position of a range of these bytes in it.
    fn place(&self, range: Range<usize>) -> Option<(&Arc<Region>, Range<usize>)> {
        assert!(range.end <= self.bytes, "can't populate {range:?} of {} bytes", self.bytes);
        let region = self.region.as_ref()?;
        let from = self.start.addr().get() - region.start.addr().get();
        Some((region, from + range.start..from + range.end))
    }

    /// Replaces small pages by zeroed huge ones, if the mapping is [`Backing::HugePagesIfFast`].
    pub(crate) fn renew(&mut self) {
        let Some(region) = &self.region else { return };
        let from = self.start.addr().get() - region.start.addr().get();
        // SAFETY: the range lies within its region (invariant), and `&mut self` is the only way to
        // its bytes.
        unsafe { region.renew(from..from + self.bytes) }
    }

    /// Splits off the first `bytes` bytes.
    ///
    /// # Panics
    /// If `bytes` is not a multiple of the alignment or is larger than the length.
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

    /// Returns whether `next` begins where `self` ends in the same mapping.
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
    /// If `next` doesn't begin where `self` ends in the same mapping.
    pub(crate) fn join(&mut self, next: MappedRange) {
        assert!(self.is_followed_by(&next), "joined ranges must be neighbours in one mapping");
        // Both ranges lie in the one region that both hold (the invariant), and `next` is consumed
        // here.
        self.bytes += next.bytes;
    }
}

impl std::ops::Deref for MappedRange {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: only this value owns the range (invariant), which is mapped as long as `region`
        // is held. The bytes are initialised, since anonymous memory begins as zeroes. A dangling
        // start occurs only with length 0.
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
