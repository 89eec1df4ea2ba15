//! A stack that is large enough, whatever `ulimit -s` says of that of the first thread: parsing a
//! command line takes up to 100 KiB of it, and one that is exhausted ends the process by SIGSEGV,
//! without a word.

use rustix::process::{Resource, getrlimit};
use std::panic::resume_unwind;
use std::thread;

/// Bytes of stack with which any command does: ten times what was measured.
const STACK_BYTES: usize = 1 << 20;

/// Does the work on this thread's stack if that may grow large enough, else on one of its own.
pub(crate) fn run(work: fn() -> u8) -> u8 {
    let is_small = getrlimit(Resource::Stack).current.is_some_and(|most| most < STACK_BYTES as u64);
    if !is_small {
        return work();
    }
    match thread::Builder::new().name("main".into()).stack_size(STACK_BYTES).spawn(work) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        // What there is may be enough.
        Err(_) => work(),
    }
}
