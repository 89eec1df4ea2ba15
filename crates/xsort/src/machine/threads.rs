//! Determines how many threads a job may use.

use rustix::process::{Resource, getrlimit};
use std::thread;

/// Maximum number of threads if the address space is limited, because each stack takes some of it.
const LIMITED_THREADS_MAX: usize = 16;

/// Returns the number of worker threads, at least 1: the requested number, or one for each
/// processor that this process may use. It is small if the address space is limited.
pub fn threads(asked: Option<usize>) -> usize {
    let threads = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let threads_max = if is_address_space_limited() { LIMITED_THREADS_MAX } else { usize::MAX };
    threads.clamp(1, threads_max)
}

/// Returns whether the address space is limited (`ulimit -v`).
pub fn is_address_space_limited() -> bool {
    getrlimit(Resource::As).current.is_some()
}
