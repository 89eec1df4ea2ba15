//! What the allocator of a program needs: one heap arena for all threads where the address space is
//! limited (`ulimit -v`), whether the running thread handles failed allocations, and how much
//! memory the machine has.
//!
//! The GNU C library gives each thread its own arena and reserves 64 MiB of address space for it,
//! even if the thread allocates little. Under a limit these reservations would use up the address
//! space that the sort needs.
//!
//! An allocator that ends the process if the system refuses memory first asks whether the thread
//! handles that itself. (`xsort` has such an allocator; a library can't have one.)

// `mallopt` is a C function that rustix doesn't have.
#![allow(unsafe_code)]

use std::cell::Cell;

/// Makes all threads allocate from one arena if the address space is limited. Call it first in
/// `main`: it doesn't remove existing arenas.
pub fn share_one_arena_if_limited() {
    #[cfg(target_env = "gnu")]
    {
        use rustix::process::{Resource, getrlimit};

        if getrlimit(Resource::As).current.is_some() {
            // SAFETY: takes two numbers, and rejects numbers that it doesn't know.
            unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        }
    }
}

/// Returns the machine's memory in bytes; 0 if the system doesn't tell.
pub fn machine_memory_bytes() -> u64 {
    crate::system::memory_bytes()
}

thread_local! {
    static IS_ERROR: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`, which handles failed allocations itself, as after `try_reserve`.
pub fn refusals_as_errors<T>(work: impl FnOnce() -> T) -> T {
    let before = IS_ERROR.replace(true);
    let result = work();
    IS_ERROR.set(before);
    result
}

/// Returns whether this thread is inside [`refusals_as_errors`].
pub fn is_refusal_an_error() -> bool {
    IS_ERROR.get()
}
