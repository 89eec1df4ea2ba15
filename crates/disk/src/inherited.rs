//! Standard streams and signal dispositions as the process inherited them, before Rust's runtime
//! changed them.
//!
//! Before it calls `main`, the runtime opens `/dev/null` in place of each closed standard stream
//! and ignores SIGPIPE. A program that must behave like a C program needs the original state: a
//! closed output is an error, and a parent that ignored SIGPIPE wants an error message for a broken
//! pipe. So a function of this file runs earlier: the loader calls the functions in `.init_array`
//! (macOS: `__mod_init_func`) before the runtime starts.

// `.init_array` and signal dispositions, which rustix doesn't support.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU8, Ordering};

/// What the process inherited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Whether standard input, output and error were open.
    pub is_open: [bool; 3],
    /// Whether SIGPIPE was ignored.
    pub ignores_sigpipe: bool,
}

const IGNORES_SIGPIPE: u8 = 1 << 3;

/// One bit for each closed stream, and [`IGNORES_SIGPIPE`].
static OBSERVED: AtomicU8 = AtomicU8::new(0);

// SAFETY: the loader calls it in one thread before `main`, with arguments that a C function may
// ignore. `observe` only makes system calls, and needs nothing of Rust's runtime.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static OBSERVE: extern "C" fn() = observe;

extern "C" fn observe() {
    let mut observed = 0;
    for stream in 0..3 {
        // SAFETY: fcntl accepts any number, and fails if no file is open under it.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } == -1 {
            observed |= 1 << stream;
        }
    }
    // SAFETY: all zeros are a valid value of this C structure, and the system only writes to it.
    let disposition = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut now);
        now.sa_sigaction
    };
    if disposition == libc::SIG_IGN {
        observed |= IGNORES_SIGPIPE;
    }
    OBSERVED.store(observed, Ordering::Relaxed);
}

/// Returns what the process inherited from its parent.
pub fn inherited() -> Inherited {
    let observed = OBSERVED.load(Ordering::Relaxed);
    Inherited {
        is_open: [0, 1, 2].map(|stream| observed & 1 << stream == 0),
        ignores_sigpipe: observed & IGNORES_SIGPIPE != 0,
    }
}
