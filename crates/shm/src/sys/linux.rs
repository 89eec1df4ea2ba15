//! Linux: fallocate(2), futex(2), and the advices of madvise(2) for forks.
#![allow(unsafe_code, reason = "the crate's system calls")]

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::thread::futex;
use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Fills the page tables of a new mapping at once.
pub(super) const POPULATE: MapFlags = MapFlags::POPULATE;

/// Removes a mapping from children of forks.
///
/// # Safety
/// The range is a mapping, which children neither use nor drop.
pub(super) unsafe fn keep_from_children(start: *mut u8, length: usize) -> io::Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { madvise(start.cast(), length, Advice::LinuxDontFork) }.map_err(io::Error::from)
}

/// Returns a random number from the system.
pub(crate) fn random() -> io::Result<u64> {
    let mut number = [0; 8];
    getrandom(&mut number, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(number))
}

/// Number of bytes that one call reserves. A signal undoes a call's work, so with a signal every
/// millisecond a call for gigabytes would never end.
const RESERVED_AT_ONCE: u64 = 1 << 20;

/// Extends `file` to at least `length` bytes and reserves space for all of them, holes included.
/// Returns false if the file system can't.
pub(super) fn allocate(file: &File, length: usize) -> io::Result<bool> {
    let length = length as u64;
    let reserved = (0..length).step_by(RESERVED_AT_ONCE as usize).try_for_each(|at| {
        let count = RESERVED_AT_ONCE.min(length - at);
        retry_on_intr(|| fallocate(file, FallocateFlags::empty(), at, count))
    });
    match reserved {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sleeps until `ticket` is woken or `timeout` is over, but only while its value is `expected`. May
/// return early.
pub(crate) fn sleep_on(ticket: &AtomicU32, expected: u32, timeout: Duration) -> io::Result<()> {
    let timeout = futex::Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match futex::wait(ticket, futex::Flags::empty(), expected, Some(&timeout)) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Wakes all threads that sleep on `ticket`, in any process.
pub(crate) fn wake_all(ticket: &AtomicU32) {
    // It fails only for invalid addresses and arguments.
    let _ = futex::wake(ticket, futex::Flags::empty(), i32::MAX as u32);
}

/// A page that the kernel clears in the child of a fork: a process that finds it cleared has not
/// created it.
pub(crate) struct ForkMark {
    page: NonNull<AtomicU64>,
}

const PAGE_BYTES: usize = 4096;

// SAFETY: an atomic at an address that is valid as long as the ForkMark lives.
unsafe impl Send for ForkMark {}
// SAFETY: as above.
unsafe impl Sync for ForkMark {}

impl ForkMark {
    /// Creates a mark. Needs Linux 4.14.
    pub(crate) fn new() -> io::Result<ForkMark> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(std::ptr::null_mut(), PAGE_BYTES, protection, MapFlags::PRIVATE)?
        };
        let page = NonNull::new(base.cast::<AtomicU64>())
            .expect("the kernel never maps address 0 unasked");
        let mark = ForkMark { page };
        // SAFETY: the range is the new mapping, of anonymous private memory.
        unsafe { madvise(base, PAGE_BYTES, Advice::LinuxWipeOnFork)? };
        mark.word().store(1, Ordering::Relaxed);
        Ok(mark)
    }

    /// Returns whether this process created the mark; false in its children.
    #[inline]
    pub(crate) fn is_original_process(&self) -> bool {
        self.word().load(Ordering::Relaxed) != 0
    }

    /// Returns the mark's word: nonzero in the process that created it, zero in its children.
    #[inline]
    pub(crate) fn word(&self) -> &AtomicU64 {
        // SAFETY: one page was mapped at a page's boundary, and stays as long as `self`.
        unsafe { self.page.as_ref() }
    }
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        // SAFETY: this is the page that `new` mapped; references to it borrow from `self`.
        let unmapped = unsafe { munmap(self.page.as_ptr().cast(), PAGE_BYTES) };
        debug_assert!(unmapped.is_ok());
    }
}
