//! Signals that end the process, after a thread has cleaned up.

use super::pipes::{do_pipes_kill, set_pipes_kill};
use super::terminating::{after_first_request, terminating_signals};
use signal_hook::consts::SIGPIPE;
use signal_hook::flag;
use signal_hook::low_level::pipe;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Signals that would end the process on the spot, taken over by a thread that cleans up first.
pub(crate) struct FatalSignals {
    /// The number of the signal that came, or 0.
    received: Arc<AtomicUsize>,
    /// Whether they end the process on the spot again.
    kill: Arc<AtomicBool>,
    pipes_killed: bool,
}

impl FatalSignals {
    /// From now on these signals write to `alarm` instead: SIGPIPE if it would kill, and with `all`
    /// those that a [`Stop`](super::Stop) would obey.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub(crate) fn take_over(alarm: &UnixStream, all: bool) -> io::Result<FatalSignals> {
        let pipes_killed = do_pipes_kill();
        let fatal = FatalSignals { received: Arc::default(), kill: Arc::default(), pipes_killed };
        let mut signals = if all { terminating_signals() } else { Vec::new() };
        signals.extend(pipes_killed.then_some(SIGPIPE));
        for &signal in &signals {
            flag::register_conditional_default(signal, Arc::clone(&fatal.kill))?;
            flag::register_usize(signal, Arc::clone(&fatal.received), signal as usize)?;
            pipe::register(signal, alarm.try_clone()?)?;
        }
        set_pipes_kill(false);
        if all {
            // If the thread is held up (by a terminal, say), a second signal ends the process on
            // the spot.
            let kill = Arc::clone(&fatal.kill);
            after_first_request(&signals, move |_| kill.store(true, Ordering::Relaxed))?;
        }
        Ok(fatal)
    }

    /// The signal that came, if one did.
    pub(crate) fn received(&self) -> Option<i32> {
        Some(self.received.load(Ordering::Relaxed) as i32).filter(|signal| *signal != 0)
    }

    /// Has them end the process on the spot again: everything is cleaned up.
    pub(crate) fn give_back(self) {
        self.kill.store(true, Ordering::Relaxed);
        set_pipes_kill(self.pipes_killed);
    }
}
