//! A large enough stack for the main thread, whatever `ulimit -s` allows. Parsing a command line
//! takes up to 100 KiB, and an exhausted stack ends the process by a signal.

use rustix::process::{Resource, getrlimit};
use std::panic::resume_unwind;
use std::thread;

/// Bytes of stack that are enough for any command: ten times what was measured.
const STACK_BYTES: usize = 1 << 20;

/// Runs `work` on this thread if its stack may grow large enough, otherwise on a thread of its own.
pub(crate) fn run_with_enough(work: fn() -> u8) -> u8 {
    let is_small = getrlimit(Resource::Stack).current.is_some_and(|most| most < STACK_BYTES as u64);
    if !is_small {
        return work();
    }
    match thread::Builder::new().name("main".into()).stack_size(STACK_BYTES).spawn(work) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        // This thread's stack may be enough.
        Err(_) => work(),
    }
}
