//! A file that is rewritten in place: the first signal waits until it is complete, the second
//! doesn't.
//!
//! From the truncation of the old content until the last write of the new one, the file is
//! incomplete. So the thread that ends the process for a signal waits until the file is complete.

use parking_lot::{Condvar, Mutex};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use std::io;
use std::sync::Arc;

/// Prints why the process doesn't end yet.
type Say = Box<dyn FnOnce() + Send>;

/// Whether this process is rewriting a file now.
#[derive(Default)]
struct State {
    is_under_way: bool,
    say: Option<Say>,
    /// True if a thread waits for the rewriting to end, in order to end the process.
    is_awaited: bool,
}

static STATE: Mutex<State> =
    Mutex::new(State { is_under_way: false, say: None, is_awaited: false });

static ENDED: Condvar = Condvar::new();

/// Holds back signals while it exists.
pub(crate) struct Rewriting(());

impl Rewriting {
    /// Begins to hold back the signals that [`clean_up_when_killed`](super::clean_up_when_killed)
    /// obeys. When the first one comes, `say` prints why the process doesn't end.
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
        // The waiting thread ends the process with the signal's status, not this thread's.
        while state.is_awaited {
            ENDED.wait(&mut state);
        }
    }
}

/// Waits until no file is being rewritten. The thread that ends the process calls it.
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

/// Has a write beyond the file size limit (`ulimit -f`) fail instead of killing the process.
///
/// # Errors
/// If the system refuses the handler.
pub(crate) fn report_exceeded_sizes_as_errors() -> io::Result<()> {
    // A handler that does nothing has the effect of ignoring the signal.
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}
