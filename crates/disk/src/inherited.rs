//! What the process was given when it was started, before the runtime put it right.
//!
//! Rust's runtime opens `/dev/null` where a standard stream is closed, and ignores SIGPIPE, before
//! `main` is called. Afterwards nobody can tell any more, and a program that must behave as those
//! in C do has to know: a closed output is an error, and whoever ignored SIGPIPE wants to be told
//! of a broken pipe. So this looks before: the loader calls what stands in `.init_array` before it
//! calls the runtime.

// The loader's list of functions, and the dispositions of signals, which rustix doesn't have.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU8, Ordering};

/// What was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Whether standard input, output and error were open.
    pub is_open: [bool; 3],
    /// Whether SIGPIPE was ignored.
    pub ignores_sigpipe: bool,
}

const IGNORES_SIGPIPE: u8 = 1 << 3;

/// A bit for each closed stream, and [`IGNORES_SIGPIPE`].
static SEEN: AtomicU8 = AtomicU8::new(0);

// SAFETY: the loader calls it with arguments that a C function may leave alone, in one thread,
// before `main`. `look` calls nothing but the system, and needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let mut seen = 0;
    for stream in 0..3 {
        // SAFETY: takes a number, and answers that nothing is open there if so.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } == -1 {
            seen |= 1 << stream;
        }
    }
    // SAFETY: all zeros are a value of this plain structure of C; the system only writes to it.
    let disposition = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut now);
        now.sa_sigaction
    };
    if disposition == libc::SIG_IGN {
        seen |= IGNORES_SIGPIPE;
    }
    SEEN.store(seen, Ordering::Relaxed);
}

/// What the process was given.
pub fn inherited() -> Inherited {
    let seen = SEEN.load(Ordering::Relaxed);
    Inherited {
        is_open: [0, 1, 2].map(|stream| seen & 1 << stream == 0),
        ignores_sigpipe: seen & IGNORES_SIGPIPE != 0,
    }
}
