//! How a sort ends, for all pushers and readers. The first caller to ask gets the error itself,
//! later ones its message.

use crate::Error;
use crate::lines::LinesReport;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The engine takes no more records. Its outcome has the reason.
#[derive(Debug)]
pub(super) struct Ended;

/// How a sort has ended, and whether it is to stop.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    is_stopped: AtomicBool,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Pending,
    Done(LinesReport),
    Failed(Error),
    /// The message of an error that a caller has already taken.
    HasFailed(String),
    Cancelled,
}

impl Outcome {
    /// Asks the engine to stop, because its result isn't needed.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Records how the sort has ended. Only the first call counts.
    pub(super) fn end(&self, result: Result<LinesReport, Error>) {
        let mut state = self.state.lock();
        if matches!(*state, State::Pending) {
            *state = match result {
                Ok(report) => State::Done(report),
                Err(Error::Cancelled) => State::Cancelled,
                Err(error) => State::Failed(error),
            };
            self.ended.notify_all();
        }
    }

    /// Waits until the sort has ended.
    pub(super) fn wait(&self) -> Result<LinesReport, Error> {
        let mut state = self.state.lock();
        self.ended.wait_while(&mut state, |state| matches!(state, State::Pending));
        match &*state {
            State::Done(report) => return Ok(report.clone()),
            State::HasFailed(cause) => return Err(Error::HasFailed { cause: cause.clone() }),
            State::Pending | State::Cancelled => return Err(Error::Cancelled),
            State::Failed(_) => {}
        }
        let State::Failed(error) = std::mem::take(&mut *state) else { unreachable!("see above") };
        *state = State::HasFailed(error.to_string());
        Err(error)
    }

    /// Waits for the outcome, and returns why the engine has ended.
    pub(super) fn error(&self, _: Ended) -> Error {
        let early = |_| Error::HasFailed { cause: "the sort ended before all was pushed".into() };
        self.wait().map_or_else(|error| error, early)
    }
}
