//! Other systems, of which macOS is built and not yet run: zeros are written to reserve space, a
//! sleeper looks every millisecond, and a handler of forks (pthread_atfork(3)) clears marks.
#![allow(unsafe_code, reason = "the crate's system calls")]

use rustix::mm::MapFlags;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Nothing fills page tables at once.
pub(super) const POPULATE: MapFlags = MapFlags::empty();

/// Removes a mapping from children of forks: minherit(2).
///
/// # Safety
/// The range is a mapping, which children neither use nor drop.
#[cfg(target_vendor = "apple")]
pub(super) unsafe fn keep_from_children(start: *mut u8, length: usize) -> io::Result<()> {
    /// The value in macOS's mach/vm_inherit.h.
    const VM_INHERIT_NONE: i32 = 2;
    // SAFETY: guaranteed by the caller.
    match unsafe { libc::minherit(start.cast(), length, VM_INHERIT_NONE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Removes a mapping from children of forks. Linux, built as portable, has another call for it.
///
/// # Safety
/// The range is a mapping, which children neither use nor drop.
#[cfg(not(target_vendor = "apple"))]
pub(super) unsafe fn keep_from_children(start: *mut u8, length: usize) -> io::Result<()> {
    use rustix::mm::{Advice, madvise};
    // SAFETY: guaranteed by the caller.
    unsafe { madvise(start.cast(), length, Advice::LinuxDontFork) }.map_err(io::Error::from)
}

/// Returns a random number: the system seeds the standard library's hash tables.
pub(crate) fn random() -> io::Result<u64> {
    Ok(RandomState::new().build_hasher().finish())
}

/// Leaves it to the caller to write zeros after the file's end. Holes, which nobody makes in these
/// files, stay holes.
pub(super) fn allocate(_: &File, _: usize) -> io::Result<bool> {
    Ok(false)
}

/// Time between two looks at a ticket.
const LOOK: Duration = Duration::from_millis(1);

/// Sleeps for at most `timeout`, but only while the value of `ticket` is `expected`. Returns early
/// to be called again.
pub(crate) fn sleep_on(ticket: &AtomicU32, expected: u32, timeout: Duration) -> io::Result<()> {
    if ticket.load(Ordering::Acquire) == expected {
        thread::sleep(timeout.min(LOOK));
    }
    Ok(())
}

/// Wakes nobody: sleepers look for themselves.
pub(crate) fn wake_all(_: &AtomicU32) {}

/// A word that is cleared in the child of a fork: a process that finds it cleared has not created
/// it.
pub(crate) struct ForkMark {
    node: &'static Node,
}

/// A mark in the list of all marks. Nodes are never freed, because a child walks the list while
/// other threads of its parent were changing it; new marks take over unused ones.
struct Node {
    word: AtomicU64,
    is_used: AtomicBool,
    next: AtomicPtr<Node>,
}

/// The node that was added last.
static NODES: AtomicPtr<Node> = AtomicPtr::new(null_mut());

/// Calls `visit` with each node until it returns true.
fn find_node(mut visit: impl FnMut(&'static Node) -> bool) -> Option<&'static Node> {
    let mut next = NODES.load(Ordering::Acquire);
    // SAFETY: nodes in the list are leaked boxes, complete before they were added.
    while let Some(node) = unsafe { next.as_ref() } {
        if visit(node) {
            return Some(node);
        }
        next = node.next.load(Ordering::Acquire);
    }
    None
}

/// Clears all marks. Runs in the child, where only what is safe in a signal handler is allowed.
extern "C" fn clear_marks() {
    find_node(|node| {
        node.word.store(0, Ordering::Relaxed);
        false
    });
}

impl ForkMark {
    /// Creates a mark.
    pub(crate) fn new() -> io::Result<ForkMark> {
        static HANDLER: Once = Once::new();
        let mut result = 0;
        HANDLER.call_once(|| {
            // SAFETY: the handler is a function of this program, which stays loaded.
            result = unsafe { libc::pthread_atfork(None, None, Some(clear_marks)) };
        });
        if result != 0 {
            return Err(io::Error::from_raw_os_error(result));
        }
        let unused = find_node(|node| !node.is_used.swap(true, Ordering::AcqRel));
        let node = unused.unwrap_or_else(add_node);
        node.word.store(1, Ordering::Relaxed);
        Ok(ForkMark { node })
    }

    /// Returns whether this process created the mark; false in its children.
    #[inline]
    pub(crate) fn is_original_process(&self) -> bool {
        self.word().load(Ordering::Relaxed) != 0
    }

    /// Returns the mark's word: nonzero in the process that created it, zero in its children.
    #[inline]
    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.node.word
    }
}

/// Adds a used node to the list.
fn add_node() -> &'static Node {
    let node: &'static Node = Box::leak(Box::new(Node {
        word: AtomicU64::new(0),
        is_used: AtomicBool::new(true),
        next: AtomicPtr::new(null_mut()),
    }));
    let _ = NODES.fetch_update(Ordering::AcqRel, Ordering::Acquire, |first| {
        node.next.store(first, Ordering::Release);
        Some(std::ptr::from_ref(node).cast_mut())
    });
    node
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        self.node.is_used.store(false, Ordering::Release);
    }
}
