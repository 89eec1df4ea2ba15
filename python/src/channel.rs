//! Waits for another thread with the interpreter released, and handles signals meanwhile.

use crossbeam_channel::{Receiver, RecvTimeoutError};
use pyo3::prelude::*;
use std::time::Duration;

/// The interval at which signals are checked.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// The next value that a thread sends; `None` if the thread has ended. While waiting, runs Python's
/// signal handlers and then `meanwhile`. An exception from either ends the wait.
pub(crate) fn receive<T: Send>(
    py: Python<'_>,
    from: &Receiver<T>,
    mut meanwhile: impl FnMut() -> PyResult<()>,
) -> PyResult<Option<T>> {
    if let Ok(received) = from.try_recv() {
        return Ok(Some(received));
    }
    loop {
        match py.detach(|| from.recv_timeout(SIGNAL_INTERVAL)) {
            Ok(received) => return Ok(Some(received)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
        py.check_signals()?;
        meanwhile()?;
    }
}
