//! Waiting for another thread with the interpreter released, and with signals heeded.

use crossbeam_channel::{Receiver, RecvTimeoutError};
use pyo3::prelude::*;
use std::time::Duration;

/// How often signals are looked for.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// What a thread sends next; `None` if it has ended. Meanwhile Python's handlers of signals run,
/// and then `meanwhile`; what either raises ends the waiting.
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
