//! Outputs under way of a process that signals kill.

use super::terminating::terminating_signals;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::thread;
use xsort_disk::abandon_outputs;
use xsort_objects::abandon_uploads;

/// A thread that waits for signals makes a few system calls; one that abandons has requests made.
const STACK_BYTES: usize = 1 << 20;

/// For commands that signals kill wherever they are: from now on a signal first removes hidden
/// names, has the stores drop what was sent, and then kills.
///
/// # Errors
/// If the system refuses a handler or a thread.
pub(crate) fn abandon_outputs_when_killed() -> io::Result<()> {
    let mut signals = Signals::new(terminating_signals())?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            abandon_outputs();
            abandon_uploads();
            let _: io::Result<()> = emulate_default_handler(signal);
        }
    };
    let thread = thread::Builder::new().name("signals".into()).stack_size(STACK_BYTES);
    thread.spawn(wait).map(|_| ())
}
