//! SIGUSR1: a job prints how far it is, as dd does.

use signal_hook::consts::SIGUSR1;
use signal_hook::flag;
use signal_hook::low_level::pipe;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that SIGUSR1 sets.
pub(crate) struct PositionRequest(Arc<AtomicBool>);

impl PositionRequest {
    /// Installs the handler, which also writes to `alarm`.
    ///
    /// # Errors
    /// If the system refuses the handler.
    pub(crate) fn register(alarm: &UnixStream) -> io::Result<PositionRequest> {
        let request = PositionRequest(Arc::default());
        flag::register(SIGUSR1, Arc::clone(&request.0))?;
        pipe::register(SIGUSR1, alarm.try_clone()?)?;
        Ok(request)
    }

    /// True if the signal has come since the last call.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
