//! Removes alternative signal stacks: a thread must not need memory of its own before it can report
//! that there is none.
//!
//! Rust's runtime handles SIGSEGV to print that a stack overflowed. For the handler, each new
//! thread maps an alternative stack. Where the system refuses that (`ulimit -v`), the thread aborts
//! the whole process, after `spawn` has returned Ok. The runtime does none of this if SIGSEGV is
//! not the default when it starts. So a function that the loader calls earlier ignores the signal,
//! and `main` restores the default. A stack overflow then ends the program by SIGSEGV, without the
//! runtime's line.
//!
//! Only a default disposition is changed: a sanitizer's handler stays.

// The loader's list of functions, and signal dispositions. rustix offers neither.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

/// The signals for accesses to unmapped memory.
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// For each signal, whether its disposition was changed.
static ARE_IGNORED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

// SAFETY: the loader calls it before `main`, in one thread, with arguments that a C function may
// ignore. `ignore` only makes system calls, and needs nothing of Rust's runtime.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static IGNORE: extern "C" fn() = ignore;

extern "C" fn ignore() {
    for (signal, is_ignored) in SIGNALS.into_iter().zip(&ARE_IGNORED) {
        // SAFETY: both are plain C functions that return an error where they are refused. No
        // handler is installed: a fault kills, whether the signal is ignored or not.
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
            // SAFETY: it takes two numbers; the default disposition is not a function.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
