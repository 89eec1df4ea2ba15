//! Writers take turns, in the order of the output.

use crate::Error;
use crate::job::failure::{Failure, STOP_INTERVAL};
use std::sync::{Condvar, Mutex, PoisonError};

/// Something that is written to by one segment after the other.
pub(super) struct OrderedWriter<S> {
    state: Mutex<(usize, S)>,
    changed: Condvar,
}

impl<S> OrderedWriter<S> {
    pub(super) fn new(sink: S) -> Self {
        OrderedWriter { state: Mutex::new((0, sink)), changed: Condvar::new() }
    }

    /// Waits until all segments before `number` are done, and writes. `is_last`: then this one is,
    /// too.
    pub(super) fn take(
        &self,
        number: usize,
        is_last: bool,
        failure: &Failure,
        write: impl FnOnce(&mut S) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.0 != number {
            if failure.is_set() {
                return Err(Error::Cancelled);
            }
            (state, _) = self
                .changed
                .wait_timeout(state, STOP_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner);
        }
        write(&mut state.1)?;
        if is_last {
            state.0 += 1;
            self.changed.notify_all();
        }
        Ok(())
    }

    pub(super) fn into_inner(self) -> S {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}
