//! Hands a SIGPIPE that would end the process on the spot to a thread that cleans up first.

use super::pipes::{do_pipes_kill, set_pipes_kill};
use signal_hook::consts::SIGPIPE;
use signal_hook::flag;
use signal_hook::low_level::pipe;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The handler of a SIGPIPE that was taken over.
pub(crate) struct FatalPipe {
    has_come: Arc<AtomicBool>,
    pipes_killed: bool,
}

impl FatalPipe {
    /// Has SIGPIPE write to `alarm` from now on, if it would kill the process.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub(crate) fn take_over(alarm: &UnixStream) -> io::Result<FatalPipe> {
        let pipes_killed = do_pipes_kill();
        let fatal = FatalPipe { has_come: Arc::default(), pipes_killed };
        if pipes_killed {
            flag::register(SIGPIPE, Arc::clone(&fatal.has_come))?;
            pipe::register(SIGPIPE, alarm.try_clone()?)?;
        }
        set_pipes_kill(false);
        Ok(fatal)
    }

    /// SIGPIPE, if it came.
    pub(crate) fn received(&self) -> Option<i32> {
        self.has_come.load(Ordering::Relaxed).then_some(SIGPIPE)
    }

    /// Has SIGPIPE end the process on the spot again, once everything is cleaned up.
    pub(crate) fn give_back(self) {
        set_pipes_kill(self.pipes_killed);
    }
}
