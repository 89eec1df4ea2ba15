//! Ends the program with a message and a documented status if the system refuses memory (`ulimit
//! -v`, `ulimit -d`, strict overcommit).
//!
//! `xsort-disk` maps the pools of the pipelines, and returns an error if it can't. The rest are
//! many small allocations of Rust's collections. The standard library aborts the process if one of
//! them fails (SIGABRT), and an allocator can't return an error from there. So the program's
//! allocator ends the process itself: it prints one line, removes files and status, and exits.
//!
//! Allocations within [`refusals_as_errors`](xsort_disk::refusals_as_errors) are not affected:
//! their caller handles the error.

// The compiler can't check an allocator's promises.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::{self, Write as _};
use std::panic::catch_unwind;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use xsort_disk::is_refusal_an_error;

/// The memory that is freed for the clean-up, which formats names and waits for locks.
const RESERVE: Layout = match Layout::from_size_align(128 << 10, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// The program's allocator: the system's, except that a refusal ends the process.
pub(crate) struct Allocator;

/// How the process ends if memory is refused.
struct Ending {
    /// The beginning of the message.
    prefix: String,
    status: u8,
}

static ENDING: OnceLock<Ending> = OnceLock::new();
/// Removes the files and the status of the process before it ends. It must not wait for locks
/// without a limit: the calling thread may hold them.
static CLEAN_UP: OnceLock<fn()> = OnceLock::new();
static RESERVED: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// The thread that ends the process, or 0.
static ENDS: AtomicUsize = AtomicUsize::new(0);

/// Reserves the memory that the end of the process needs, and sets the clean-up to call there.
pub(crate) fn prepare_end(clean_up: fn()) {
    let _ = CLEAN_UP.set(clean_up);
    // SAFETY: the layout has a size.
    RESERVED.store(unsafe { System.alloc(RESERVE) }, Ordering::Relaxed);
}

/// Sets the `prefix` of the message and the `status` of the process. Without this call, the process
/// ends as the commands without GNU grammar do.
pub(crate) fn end_with(prefix: String, status: u8) {
    let _ = ENDING.set(Ending { prefix, status });
}

// SAFETY: each call is passed to the system's allocator. If that returns null, either null is
// returned or the process ends; nothing unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises that `System.alloc` asks for.
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

/// Ends the process, except where this thread handles refusals as errors.
#[cold]
#[inline(never)]
fn refused(bytes: usize) {
    if !is_refusal_an_error() {
        end(bytes);
    }
}

/// Ends the process after the system refused `bytes` bytes of memory.
pub(crate) fn end(bytes: usize) -> ! {
    let (prefix, status) = match ENDING.get() {
        Some(ending) => (&ending.prefix[..], ending.status),
        None => ("xsort: error: ", crate::exit::SPACE),
    };
    // SAFETY: it takes nothing and can't fail.
    let own = unsafe { libc::pthread_self() } as usize;
    match ENDS.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {}
        // The clean-up needs more memory than is reserved.
        Err(ends) if ends == own => exit_now(status),
        // Another thread is ending the process.
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
        // SAFETY: it came from this allocator with this layout, and `swap` left no other owner.
        unsafe { System.dealloc(reserved, RESERVE) };
    }
    if let Some(clean_up) = CLEAN_UP.get() {
        let _ = catch_unwind(clean_up);
    }
    exit_now(status)
}

/// Ends the process without the C library's exit handlers.
fn exit_now(status: u8) -> ! {
    // SAFETY: it takes any number, and doesn't return.
    unsafe { libc::_exit(status.into()) }
}

/// A line of at most 512 bytes that needs no allocation; longer text is cut.
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
