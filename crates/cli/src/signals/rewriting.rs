//! A file that is rewritten in place: the first signal lets that end, the second one doesn't.
//!
//! Between the moment at which the old content is cut off and the last write of the new one, the
//! file holds neither. So a signal that would kill the process is held until the file is whole.

use super::abandon::abandon_all_outputs;
use super::terminating::{after_first_request, terminating_signals};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Whether a file of this process is neither old nor new now.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// The number of the signal that came since the first file was rewritten, or 0.
static RECEIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// While one exists, signals are held.
pub(crate) struct Rewriting(());

impl Rewriting {
    /// Holds signals from now on. When the first one comes, `say` tells the user why the process
    /// doesn't end.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub(crate) fn begin(say: impl FnOnce() + Send + 'static) -> io::Result<Rewriting> {
        UNDER_WAY.store(true, Ordering::SeqCst);
        let rewriting = Rewriting(());
        let signals = terminating_signals();
        for &signal in &signals {
            flag::register_usize(signal, Arc::clone(&RECEIVED), signal as usize)?;
        }
        // Without a thread, all signals are held until the file is whole.
        after_first_request(&signals, move |mut signals: Signals| {
            if is_rewriting() {
                say();
                signals.forever().next();
            }
            abandon_all_outputs();
            die_of_held_signal();
        })?;
        Ok(rewriting)
    }
}

impl Drop for Rewriting {
    fn drop(&mut self) {
        UNDER_WAY.store(false, Ordering::SeqCst);
    }
}

/// Has a write beyond the limit on the size of files (`ulimit -f`) fail instead of killing the
/// process.
///
/// # Errors
/// If the system refuses the handler.
pub(crate) fn report_exceeded_sizes_as_errors() -> io::Result<()> {
    // A handler that does nothing, as good as ignoring the signal.
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Whether a signal must not end the process now.
pub(crate) fn is_rewriting() -> bool {
    UNDER_WAY.load(Ordering::SeqCst)
}

/// Ends the process by the signal that was held, if one was.
pub(crate) fn die_of_held_signal() {
    let signal = RECEIVED.load(Ordering::SeqCst) as i32;
    if signal != 0 {
        let _: io::Result<()> = emulate_default_handler(signal);
    }
}
