//! How many threads a job may use.

use rustix::process::{Resource, getrlimit};
use std::thread;

/// Threads where the address space is limited: each takes some of it for its stack.
const LIMITED_THREADS_MAX: usize = 16;

/// Threads that work, at least 1: as many as asked for, or one for each processor that this process
/// may use, and few where the address space is limited.
pub fn threads(asked: Option<usize>) -> usize {
    let threads = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let threads_max = if is_address_space_limited() { LIMITED_THREADS_MAX } else { usize::MAX };
    threads.clamp(1, threads_max)
}

/// Whether the address space is limited (`ulimit -v`).
pub fn is_address_space_limited() -> bool {
    getrlimit(Resource::As).current.is_some()
}
