//! A file that is rewritten in place: the first signal lets that end, the second one doesn't.
//!
//! Between the moment at which the old content is cut off and the last write of the new one, the
//! file holds neither. So the thread that ends the process for a signal waits until it is whole.

use parking_lot::{Condvar, Mutex};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use std::io;
use std::sync::Arc;

/// What tells the user why the process doesn't end.
type Say = Box<dyn FnOnce() + Send>;

/// Whether a file of this process is neither old nor new now.
#[derive(Default)]
struct State {
    is_under_way: bool,
    say: Option<Say>,
    /// Whether a thread waits for the end, to end the process.
    is_awaited: bool,
}

static STATE: Mutex<State> =
    Mutex::new(State { is_under_way: false, say: None, is_awaited: false });

static ENDED: Condvar = Condvar::new();

/// While one exists, signals are held.
pub(crate) struct Rewriting(());

impl Rewriting {
    /// Holds the signals that [`clean_up_when_killed`](super::clean_up_when_killed) obeys from now
    /// on. When the first one comes, `say` tells the user why the process doesn't end.
    pub(crate) fn begin(say: impl FnOnce() + Send + 'static) -> Rewriting {
        *STATE.lock() = State { is_under_way: true, say: Some(Box::new(say)), is_awaited: false };
        Rewriting(())
    }
}

impl Drop for Rewriting {
    fn drop(&mut self) {
        let mut state = STATE.lock();
        state.is_under_way = false;
        ENDED.notify_all();
        // The other thread ends the process, by the signal's status and not by this thread's.
        while state.is_awaited {
            ENDED.wait(&mut state);
        }
    }
}

/// For the thread that ends the process: returns once no file is neither old nor new.
pub(super) fn wait_for_whole_files() {
    let mut state = STATE.lock();
    while state.is_under_way {
        state.is_awaited = true;
        if let Some(say) = state.say.take() {
            say();
        }
        ENDED.wait(&mut state);
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
