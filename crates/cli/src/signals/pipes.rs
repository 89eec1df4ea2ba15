//! Sets whether SIGPIPE kills the process.

use signal_hook::consts::SIGPIPE;
use signal_hook::flag;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock};

/// True if SIGPIPE ends the process on the spot. A process has one handler for it.
static PIPES_KILL: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Has a write to a closed pipe fail instead of killing the process.
///
/// # Errors
/// If the system refuses the handler.
pub(crate) fn report_closed_pipes_as_errors() -> io::Result<()> {
    // A handler that does nothing has the effect of ignoring the signal.
    flag::register(SIGPIPE, Arc::default()).map(drop)
}

/// Has SIGPIPE kill the process again.
///
/// # Errors
/// If the system refuses the handler.
pub(crate) fn let_closed_pipes_kill() -> io::Result<()> {
    PIPES_KILL.store(true, Relaxed);
    flag::register_conditional_default(SIGPIPE, Arc::clone(&PIPES_KILL)).map(drop)
}

/// True if SIGPIPE kills the process now.
pub(super) fn do_pipes_kill() -> bool {
    PIPES_KILL.load(Relaxed)
}

/// Sets whether SIGPIPE kills the process from now on.
pub(super) fn set_pipes_kill(kills: bool) {
    PIPES_KILL.store(kills, Relaxed);
}
