//! Being told to stop.
//!
//! SIGINT, SIGTERM and SIGHUP raise a flag that the pipelines look at between blocks; they clean up
//! and the program exits with 128 and the signal's number. A signal that comes a tenth of a second
//! or more after the first ends the program at once, with no more than the names taken away that
//! would stay behind; not an earlier one, because `timeout` and terminals often send the same
//! request twice, to the process and to its group, and the clean-up must not be lost to that. A
//! third one doesn't even wait for the names. A signal that was ignored when the program started
//! (nohup, a background job of a script) stays ignored.
//!
//! SIGPIPE kills as everywhere else, once a command has begun; until then nobody who closes a pipe
//! can change the status of a refusal. SIGXFSZ (`ulimit -f`) does not kill, so that the write that
//! is too far fails and has its line.

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::{exit, pipe};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use xsort_disk::abandon_outputs;

/// How long after the first signal further ones are taken for the same request: `timeout` sends
/// both within microseconds, and nobody presses Ctrl-C ten times a second.
const ECHO: Duration = Duration::from_millis(100);

/// What waits for signals calls the system a few times.
const STACK_BYTES: usize = 256 << 10;

/// Whether SIGPIPE ends the process on the spot: a process has one handler for it.
static PIPES_KILL: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The flag.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    signal: Arc<AtomicUsize>,
    farewell: Arc<Mutex<Option<Farewell>>>,
}

/// What must not stay behind a job that is ended at once.
type Farewell = Box<dyn FnOnce() + Send>;

impl Stop {
    /// Installs the handlers.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub(crate) fn install() -> io::Result<Stop> {
        let stop = Stop::default();
        let impatient = Arc::new(AtomicBool::new(false));
        let ignored =
            ignored_mask(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let heeded: Vec<_> = [SIGINT, SIGTERM, SIGHUP]
            .into_iter()
            .filter(|signal| ignored & (1 << (signal - 1)) == 0)
            .collect();
        for &signal in &heeded {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&impatient))?;
            flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
        }
        let (farewell, hurry) = (Arc::clone(&stop.farewell), Arc::clone(&impatient));
        let leave = move |mut again: Signals| {
            let Some(signal) = again.forever().next() else { return };
            hurry.store(true, Ordering::Relaxed);
            abandon_outputs();
            if let Some(farewell) = lock(&farewell).take() {
                farewell();
            }
            exit(128 + signal);
        };
        if !after_the_first(&heeded, leave)? {
            // After the shutdowns, which still see the flag down on the first signal.
            for &signal in &heeded {
                flag::register(signal, Arc::clone(&impatient))?;
            }
        }
        Stop::die_of_closed_pipes()?;
        // A handler that does nothing, as good as ignoring it.
        flag::register(SIGXFSZ, Arc::default())?;
        Ok(stop)
    }

    /// Has SIGPIPE kill the process again.
    ///
    /// # Errors
    /// If the system refuses the handler.
    pub(crate) fn die_of_closed_pipes() -> io::Result<()> {
        PIPES_KILL.store(true, Ordering::Relaxed);
        flag::register_conditional_default(SIGPIPE, Arc::clone(&PIPES_KILL)).map(drop)
    }

    /// Whether a signal has come.
    pub(crate) fn is_set(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// What to do before the process ends at once, because someone insists.
    pub(crate) fn before_leaving(&self, farewell: impl FnOnce() + Send + 'static) {
        *lock(&self.farewell) = Some(Box::new(farewell));
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

/// Has a write to a closed pipe fail, and not kill.
///
/// # Errors
/// If the system refuses the handler.
pub(crate) fn heed_closed_pipes_as_errors() -> io::Result<()> {
    // A handler that does nothing, as good as ignoring it.
    flag::register(SIGPIPE, Arc::default()).map(drop)
}

/// Whether someone asks how far the job is: SIGUSR1, as for dd.
pub(crate) struct Asked(Arc<AtomicBool>);

impl Asked {
    /// Installs the handler, which also writes to `alarm`.
    ///
    /// # Errors
    /// If the system refuses it.
    pub(crate) fn register(alarm: &UnixStream) -> io::Result<Asked> {
        let asked = Asked(Arc::default());
        flag::register(SIGUSR1, Arc::clone(&asked.0))?;
        pipe::register(SIGUSR1, alarm.try_clone()?)?;
        Ok(asked)
    }

    /// Whether somebody asked since the last time.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Signals that would end the process on the spot, in the hands of a thread that has something to
/// tidy up before.
pub(crate) struct Fatal {
    came: Arc<AtomicUsize>,
    /// Whether they end the process on the spot again.
    kill: Arc<AtomicBool>,
    pipes_killed: bool,
}

impl Fatal {
    /// From now on these signals write to `alarm`: SIGPIPE, if it would kill; and with `all` those
    /// that a [`Stop`] would heed, unless they are ignored.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub(crate) fn take_over(alarm: &UnixStream, all: bool) -> io::Result<Fatal> {
        let ignored =
            ignored_mask(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let pipes_killed = PIPES_KILL.load(Ordering::Relaxed);
        let fatal = Fatal { came: Arc::default(), kill: Arc::default(), pipes_killed };
        let others = [SIGINT, SIGTERM, SIGHUP].into_iter();
        let others = others.filter(|signal| all && ignored & (1 << (signal - 1)) == 0);
        let signals: Vec<_> = others.chain(pipes_killed.then_some(SIGPIPE)).collect();
        for &signal in &signals {
            flag::register_conditional_default(signal, Arc::clone(&fatal.kill))?;
            flag::register_usize(signal, Arc::clone(&fatal.came), signal as usize)?;
            pipe::register(signal, alarm.try_clone()?)?;
        }
        PIPES_KILL.store(false, Ordering::Relaxed);
        if all {
            // If who tidies up is held up (by a terminal, say), a second signal ends the process
            // where it stands.
            let kill = Arc::clone(&fatal.kill);
            after_the_first(&signals, move |_| kill.store(true, Ordering::Relaxed))?;
        }
        Ok(fatal)
    }

    /// The signal that came, if one did.
    pub(crate) fn came(&self) -> Option<i32> {
        Some(self.came.load(Ordering::Relaxed) as i32).filter(|signal| *signal != 0)
    }

    /// Nothing is left to be tidied up: they end the process on the spot again.
    pub(crate) fn give_back(self) {
        self.kill.store(true, Ordering::Relaxed);
        PIPES_KILL.store(self.pipes_killed, Ordering::Relaxed);
    }
}

/// Calls `next` when the first of the signals has come and its echoes have died away, in a thread
/// of its own. False where no thread can be had (a limit on processes).
fn after_the_first(
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
    Ok(thread::Builder::new().name("patience".into()).stack_size(STACK_BYTES).spawn(wait).is_ok())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mask =
            ignored_mask("Name:\txsort\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert_eq!(mask, 1 << (SIGHUP - 1) | 1 << (SIGPIPE - 1));
        assert_eq!(ignored_mask(""), 0);
    }
}
