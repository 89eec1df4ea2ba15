//! One heap arena for all threads where the address space is limited (`ulimit -v`).
//!
//! The GNU C library gives each thread an arena of its own and reserves 64 MiB of address space
//! for it, however little the thread allocates. Under a limit these reservations would use up what
//! the sort needs.

// `mallopt` is a function of C, which rustix doesn't have.
#![allow(unsafe_code)]

/// Has all threads allocate from one arena if the address space is limited. Call it first in
/// `main`: arenas that exist stay.
pub fn share_one_arena_if_limited() {
    #[cfg(target_env = "gnu")]
    {
        use rustix::process::{Resource, getrlimit};

        if getrlimit(Resource::As).current.is_some() {
            // SAFETY: takes two numbers, and refuses those that it doesn't know.
            unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        }
    }
}
