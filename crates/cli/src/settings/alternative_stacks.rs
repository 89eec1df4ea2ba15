//! No alternative signal stacks: a thread must not need memory of its own before it can say that
//! there is none.
//!
//! Rust's runtime handles SIGSEGV to print that a stack overflowed. For the handler each new thread
//! maps an alternative stack, and where the system refuses that (`ulimit -v`), the thread aborts
//! the whole process, after `spawn` has returned Ok. The runtime does none of this where SIGSEGV is
//! not the default when it starts. So a function that the loader calls earlier has the signal
//! ignored, and `main` restores the default. A stack that overflows ends the program by SIGSEGV,
//! without the runtime's line.
//!
//! Only what is the default is changed: a sanitizer's handler stays.

// The loader's list of functions, and signal dispositions, which rustix doesn't have.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

/// The signals of accesses to memory that isn't there.
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// For each of them, whether it was changed.
static ARE_IGNORED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

// SAFETY: the loader calls it with arguments that a C function may leave alone, in one thread,
// before `main`. `ignore` makes system calls only, and needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static IGNORE: extern "C" fn() = ignore;

extern "C" fn ignore() {
    for (signal, is_ignored) in SIGNALS.into_iter().zip(&ARE_IGNORED) {
        // SAFETY: both are plain functions of C that fail where they are refused. Nothing is
        // handled: a fault kills, whether it is ignored or not.
        let is_default = unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
                && now.sa_sigaction == libc::SIG_DFL
        };
        if is_default {
            // SAFETY: as above.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
            is_ignored.store(true, Ordering::Relaxed);
        }
    }
}

/// Restores the signals' defaults, which children inherit. Call it first in `main`.
pub(crate) fn restore_signals() {
    for (signal, is_ignored) in SIGNALS.into_iter().zip(&ARE_IGNORED) {
        if is_ignored.swap(false, Ordering::Relaxed) {
            // SAFETY: it takes two numbers; the default is no function.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
