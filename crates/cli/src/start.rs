//! The program's first steps where the C library is GNU's, in place of those of Rust's runtime:
//! what that does before `main` costs a tenth of a millisecond, of the one that ten files take.
//! Most of it is reading `/proc/self/maps` to find the end of the stack, in order to have a word to
//! say where one overflows; here nothing recurses, and without a word the page that guards the
//! stack ends the process all the same.
//!
//! What the runtime does beyond that is done here, or in `main.rs`: closed standard streams,
//! SIGPIPE, the status after a panic.

// The function that C calls has a name that nothing else may have.
#![allow(unsafe_code)]

use crate::stack;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Resource, getrlimit};
use std::ffi::{c_char, c_int};
use std::os::fd::IntoRawFd;
use std::{panic, process};
use xsort_disk::inherited;

/// The status that Rust's runtime gives to a program that panicked.
const PANICKED: u8 = 101;

// SAFETY: it is C's `main`: with its arguments and its result, and called by its runtime only. Rust
// has none here (`no_main`). The standard library has taken the arguments before, in `.init_array`.
#[unsafe(no_mangle)]
extern "C" fn main(_words: c_int, _command_line: *const *const c_char) -> c_int {
    occupy_closed_streams();
    share_one_arena();
    let status = panic::catch_unwind(|| stack::run(crate::run_program)).unwrap_or(PANICKED);
    // Which also writes what is left in the buffer of standard output.
    process::exit(c_int::from(status))
}

/// The parameter of `mallopt` for the number of arenas.
const M_ARENA_MAX: c_int = -8;

// SAFETY: as the GNU C library declares it.
unsafe extern "C" {
    safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
}

/// Has all threads share one arena of the allocator where the address space is limited: each
/// further one takes 64 MiB of it, whatever is in them, and then a few bytes may be too many.
fn share_one_arena() {
    if getrlimit(Resource::As).current.is_some() {
        mallopt(M_ARENA_MAX, 1);
    }
}

/// No file that is opened later must be taken for a standard stream.
fn occupy_closed_streams() {
    for _ in inherited().is_open.into_iter().filter(|is_open| !is_open) {
        match open(c"/dev/null", OFlags::RDWR, Mode::empty()) {
            // The lowest number that is free, which is a standard stream's.
            Ok(file) => drop(file.into_raw_fd()),
            Err(_) => process::abort(),
        }
    }
}
