//! Being told to stop.
//!
//! SIGINT, SIGTERM and SIGHUP raise a flag that the pipelines look at between blocks; they clean up and the program exits with
//! 128 and the signal's number. A second signal ends the program at once. A signal that was ignored when the program started
//! (nohup, a background job of a script) stays ignored. SIGPIPE, which Rust ignores, kills again as everywhere else.

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Installs the handlers.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub(crate) fn install() -> io::Result<Stop> {
        let stop = Stop::default();
        let asked = Arc::new(AtomicBool::new(false));
        let ignored = ignored_mask(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            // The order matters: on the first signal the shutdown still sees the flag down.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
        }
        flag::register_conditional_default(SIGPIPE, Arc::new(AtomicBool::new(true)))?;
        Ok(stop)
    }

    /// Whether a signal has come.
    pub(crate) fn is_set(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// 128 and the number of the signal that came, or of SIGINT if none did.
    pub(crate) fn exit_code(&self) -> u8 {
        let signal = match self.signal.load(Ordering::Relaxed) {
            0 => SIGINT as usize,
            signal => signal,
        };
        128 + signal as u8
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

    #[test]
    fn ignored_signals_are_read_from_the_kernels_mask() {
        let mask = ignored_mask("Name:\txsort\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert_eq!(mask, 1 << (SIGHUP - 1) | 1 << (SIGPIPE - 1));
        assert_eq!(ignored_mask(""), 0);
    }
}
