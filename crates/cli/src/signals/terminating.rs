//! Which signals end a job, and which of them count as a second request.

use crate::system::ignored_signals;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::thread;
use std::time::Duration;

/// How long after the first signal further ones count as the same request. `timeout` sends both
/// within microseconds, and people don't press Ctrl-C ten times a second.
const ECHO: Duration = Duration::from_millis(100);

/// The thread that waits for signals makes a few system calls.
const STACK_BYTES: usize = 256 << 10;

/// SIGINT, SIGTERM and SIGHUP, except those that were ignored when the process started.
pub(super) fn terminating_signals() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM, SIGHUP];
    let ignored = ignored_signals(&signals);
    signals.retain(|signal| ignored & (1 << (signal - 1)) == 0);
    signals
}

/// Calls `next` in a new thread, once the first of the signals has come and a second would be a new
/// request. Returns false if the system refuses a thread.
pub(super) fn after_first_request(
    signals: &[i32],
    next: impl FnOnce(Signals) + Send + 'static,
) -> io::Result<bool> {
    let mut signals = Signals::new(signals)?;
    let wait = move || {
        if signals.forever().next().is_some() {
            thread::sleep(ECHO);
            signals.pending().for_each(drop);
            next(signals);
        }
    };
    Ok(thread::Builder::new().name("signals".into()).stack_size(STACK_BYTES).spawn(wait).is_ok())
}

/// Calls `next` in a new thread once a further signal would be a new request. Calls it at once if
/// the system refuses a thread.
pub(super) fn after_echo(next: impl Fn() + Clone + Send + 'static) {
    let wait = {
        let next = next.clone();
        move || {
            thread::sleep(ECHO);
            next();
        }
    };
    let thread = thread::Builder::new().name("signals".into()).stack_size(STACK_BYTES);
    if thread.spawn(wait).is_err() {
        next();
    }
}
