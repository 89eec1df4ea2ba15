//! One heap arena for all threads where the address space is limited (`ulimit -v`).
//!
//! The GNU C library gives each thread its own arena and reserves 64 MiB of address space for it,
//! even if the thread allocates little. Under a limit these reservations would use up the address
//! space that the sort needs.

// `mallopt` is a C function that rustix doesn't have.
#![allow(unsafe_code)]

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
