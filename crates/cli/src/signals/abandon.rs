//! Outputs under way of a process that signals kill.

use super::terminating::terminating_signals;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Write};
use std::thread;
use xsort_disk::{DisplayPath, abandon_outputs};
use xsort_objects::{abandon_uploads, uploads_left};

/// A thread that waits for signals makes a few system calls; one that abandons has requests made.
const STACK_BYTES: usize = 1 << 20;

/// Removes the hidden names of all outputs under way, and has the stores drop what was sent.
pub(crate) fn abandon_all_outputs() {
    abandon_outputs();
    abandon_uploads();
    report_uploads_left();
}

/// Names the objects of which parts stay in a store that didn't drop them.
pub(crate) fn report_uploads_left() {
    for upload in uploads_left() {
        let object = upload.object;
        let note = format!(
            "note: the store did not drop the parts that it has of {object}: \
             'xsort status --clear --older-than 0s {object}' removes them once it can be asked"
        );
        let _ = io::stderr().write_all(format!("xsort: {}\n", DisplayPath(&note)).as_bytes());
    }
}

/// For commands that signals kill wherever they are: from now on a signal first removes hidden
/// names, has the stores drop what was sent, and then kills.
///
/// # Errors
/// If the system refuses a handler or a thread.
pub(crate) fn abandon_outputs_when_killed() -> io::Result<()> {
    let mut signals = Signals::new(terminating_signals())?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            abandon_all_outputs();
            let _: io::Result<()> = emulate_default_handler(signal);
        }
    };
    let thread = thread::Builder::new().name("signals".into()).stack_size(STACK_BYTES);
    thread.spawn(wait).map(|_| ())
}
