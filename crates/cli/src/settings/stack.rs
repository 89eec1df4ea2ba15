//! Gives the main thread a large enough stack, whatever `ulimit -s` allows. Parsing a command line
//! takes up to 100 KiB, and an exhausted stack ends the process by a signal.
//!
//! The first thread's stack grows page by page. Where the address space is limited (`ulimit -v`),
//! other memory may have taken the remaining addresses. Then a refused page also ends the process
//! by a signal. Another thread's stack has all its addresses from the beginning.

use super::refused_memory;
use rustix::process::{Resource, getrlimit};
use std::panic::resume_unwind;
use std::thread;
use xsort::machine::is_address_space_limited;
use xsort_disk::Lease;

/// Bytes of stack for any command: ten times the measured maximum.
const STACK_BYTES: usize = 1 << 20;

/// Runs `work` on this thread if its stack may grow large enough, otherwise on a new thread.
pub(crate) fn run_with_enough(work: fn() -> u8) -> u8 {
    let is_small = getrlimit(Resource::Stack).current.is_some_and(|most| most < STACK_BYTES as u64);
    if !is_small && !is_address_space_limited() {
        return work();
    }
    match thread::Builder::new().name("main".into()).stack_size(STACK_BYTES).spawn(work) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) if !has_room(STACK_BYTES) => refused_memory::end(STACK_BYTES),
        // The limit on threads was reached. This thread's stack may be enough.
        Err(_) => work(),
    }
}

/// True if `bytes` bytes of memory can be mapped.
fn has_room(bytes: usize) -> bool {
    Lease::map(bytes).is_ok()
}
