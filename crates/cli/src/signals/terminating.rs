//! Which signals end a job, and which of them count as a second request.

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
    let ignored = ignored_mask(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    let is_heeded = |signal: &i32| ignored & (1 << (signal - 1)) == 0;
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(is_heeded).collect()
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

/// The set of ignored signals in the text of `/proc/self/status`; bit 0 is signal 1.
fn ignored_mask(status: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::consts::SIGPIPE;

    #[test]
    fn ignored_signals_are_read_from_the_kernels_mask() {
        let mask =
            ignored_mask("Name:\txsort\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert_eq!(mask, 1 << (SIGHUP - 1) | 1 << (SIGPIPE - 1));
        assert_eq!(ignored_mask(""), 0);
    }
}
