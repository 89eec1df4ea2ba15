//! Memory that the system refuses (`ulimit -v`, `ulimit -d`, strict overcommit) ends the program
//! with a message and a documented status.
//!
//! The pools of the pipelines are mapped by `xsort-disk`, which returns an error. What is left is
//! the many small allocations of Rust's collections. The standard library aborts the process where
//! one of them fails (SIGABRT), and nothing can be returned from there. So the program's allocator
//! ends the process itself: it prints one line, removes what would be left behind, and exits.
//!
//! Allocations within [`refusals_as_errors`](xsort_disk::refusals_as_errors) are not affected:
//! their caller handles the error.

// An allocator is a promise that the compiler can't check.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::{self, Write as _};
use std::panic::catch_unwind;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use xsort_disk::is_refusal_an_error;

/// What is set free when memory is refused, for the clean-up: it formats names and waits for locks.
const RESERVE: Layout = match Layout::from_size_align(128 << 10, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// The program's allocator: the system's, which ends the process where that refuses.
pub(crate) struct Allocator;

/// How the process ends where memory is refused.
struct Ending {
    /// What the message begins with.
    prefix: String,
    status: u8,
}

static ENDING: OnceLock<Ending> = OnceLock::new();
/// What must not be left behind is removed by it. It must not wait for locks without a limit: the
/// thread that calls it may hold them.
static CLEAN_UP: OnceLock<fn()> = OnceLock::new();
static RESERVED: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// The thread that ends the process, or 0.
static ENDS: AtomicI32 = AtomicI32::new(0);

/// Reserves the memory that the end takes, and says what to call there.
pub(crate) fn prepare_end(clean_up: fn()) {
    let _ = CLEAN_UP.set(clean_up);
    // SAFETY: the layout has a size.
    RESERVED.store(unsafe { System.alloc(RESERVE) }, Ordering::Relaxed);
}

/// Has the message begin with `prefix`, and the process end with `status`. Without it the process
/// ends as the commands do that have no grammar of GNU's.
pub(crate) fn end_with(prefix: String, status: u8) {
    let _ = ENDING.set(Ending { prefix, status });
}

// SAFETY: each call is passed on to the system's allocator. Where that returns null, either null is
// returned or the process ends; nothing unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises that this function asks for.
        given_or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory came from the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given_or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above; the memory came from the system's allocator.
        given_or_end(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }
}

#[inline]
fn given_or_end(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        refused(bytes);
    }
    memory
}

/// Ends the process, unless this thread wants an error.
#[cold]
#[inline(never)]
fn refused(bytes: usize) {
    if !is_refusal_an_error() {
        end(bytes);
    }
}

/// Ends the process because `bytes` bytes of memory were refused.
pub(crate) fn end(bytes: usize) -> ! {
    let (prefix, status) = match ENDING.get() {
        Some(ending) => (&ending.prefix[..], ending.status),
        None => ("xsort: error: ", crate::exit::SPACE),
    };
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    match ENDS.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {}
        // The clean-up needs more than is reserved.
        Err(ends) if ends == own => exit_now(status),
        // Another thread ends the process.
        Err(_) => loop {
            std::thread::park();
        },
    }
    let mut line = Line { bytes: [0; 512], length: 0 };
    let _ = writeln!(
        line,
        "{prefix}out of memory: the system refuses {bytes} bytes: \
         raise the limit (ulimit -v, ulimit -d), or have less memory and fewer threads used"
    );
    let _ = rustix::io::write(rustix::stdio::stderr(), &line.bytes[..line.length]);
    let reserved = RESERVED.swap(null_mut(), Ordering::Relaxed);
    if !reserved.is_null() {
        // SAFETY: it came from this allocator with this layout, and nobody else has it.
        unsafe { System.dealloc(reserved, RESERVE) };
    }
    if let Some(clean_up) = CLEAN_UP.get() {
        let _ = catch_unwind(clean_up);
    }
    exit_now(status)
}

/// Ends the process without anything that the C library does at an exit.
fn exit_now(status: u8) -> ! {
    // SAFETY: it takes any number, and doesn't return.
    unsafe { libc::_exit(status.into()) }
}

/// A line that needs no memory of the allocator's; what is longer is cut.
struct Line {
    bytes: [u8; 512],
    length: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let bytes = text.len().min(room.len());
        room[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        self.length += bytes;
        Ok(())
    }
}
