//! The flag that stops a job.

use super::abandon::{abandon_all_outputs, clean_up};
use super::pipes::let_closed_pipes_kill;
use super::rewriting::report_exceeded_sizes_as_errors;
use super::terminating::{after_first_request, terminating_signals};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use xsort::Cancel;
use xsort_objects::stop_looking;

/// Set by the first signal that stops the job. Clones share the flag.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    /// The number of the signal, or 0.
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Installs the handlers.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub(crate) fn install() -> io::Result<Stop> {
        let stop = Stop::default();
        let exits_at_once = Arc::new(AtomicBool::new(false));
        let signals = terminating_signals();
        for &signal in &signals {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&exits_at_once))?;
            flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
        }
        let exits_on_third = Arc::clone(&exits_at_once);
        let exit_on_second = move |mut signals: Signals| {
            stop_looking();
            let Some(signal) = signals.forever().next() else { return };
            exits_on_third.store(true, Ordering::Relaxed);
            abandon_all_outputs();
            clean_up();
            exit(128 + signal);
        };
        if !after_first_request(&signals, exit_on_second)? {
            // Without a thread the second signal exits at once. This handler is registered after
            // the shutdowns, so the first signal still finds the flag unset.
            for &signal in &signals {
                flag::register(signal, Arc::clone(&exits_at_once))?;
            }
        }
        let_closed_pipes_kill()?;
        report_exceeded_sizes_as_errors()?;
        Ok(stop)
    }

    /// The flag in the type that the library takes.
    pub(crate) fn cancel(&self) -> Cancel {
        Cancel::of_number(Arc::clone(&self.signal))
    }

    /// True if a signal has come.
    pub(crate) fn is_set(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// 128 plus the number of the signal that came, or of SIGINT if none did.
    pub(crate) fn exit_code(&self) -> u8 {
        let signal = match self.signal.load(Ordering::Relaxed) {
            0 => SIGINT as usize,
            signal => signal,
        };
        128 + signal as u8
    }
}
