//! Standard output. What is printed is held back until there is enough of it, or until something is
//! said on standard error, so that both come in the order in which GNU du, which holds nothing
//! back, has them.

use crate::gnu::write_all;
use rustix::io::Errno;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use xsort_disk::inherited;

/// So much is written at once.
const HELD_BYTES: usize = 64 << 10;
/// What is older than this is written with the next line, so that a slow walk can be followed.
const HELD_TIME: Duration = Duration::from_millis(100);

/// Standard output, for all threads.
pub(super) struct Output {
    state: Mutex<State>,
    is_terminal: bool,
}

struct State {
    held: Vec<u8>,
    /// When the last was written.
    written: Instant,
    /// The first error; nothing is written after it.
    failure: Option<Failed>,
    /// Whether to keep all until the end.
    keeps_all: bool,
}

/// A write that failed.
#[derive(Debug)]
pub(super) struct Failed(io::Error);

impl Failed {
    /// What GNU du says at its end: the reason is forgotten, unless closing the output fails for
    /// the same.
    pub(super) fn at_exit(&self) -> Vec<u8> {
        match self.0.raw_os_error() {
            Some(number) if number == Errno::BADF.raw_os_error() => self.at_once(),
            _ => b"write error".to_vec(),
        }
    }

    /// With the reason.
    pub(super) fn at_once(&self) -> Vec<u8> {
        let reason = self.0.to_string();
        format!("write error: {}", reason.split(" (os error").next().unwrap_or_default())
            .into_bytes()
    }
}

impl Output {
    pub(super) fn new() -> Output {
        let state =
            State { held: Vec::new(), written: Instant::now(), failure: None, keeps_all: false };
        Output { state: Mutex::new(state), is_terminal: io::stdout().is_terminal() }
    }

    /// Whether it is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Keeps everything until the end, where something else is drawn on the same terminal
    /// meanwhile.
    pub(super) fn keep_all(&self) {
        self.state().keeps_all = true;
    }

    /// Has `print` append to what is printed.
    pub(super) fn write(&self, print: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        print(&mut state.held);
        let is_enough = self.is_terminal || state.held.len() >= HELD_BYTES;
        if !state.keeps_all && (is_enough || state.written.elapsed() >= HELD_TIME) {
            state.flush();
        }
    }

    /// Writes what is held back, and has `say` speak before anything else is printed.
    pub(super) fn then_say(&self, say: impl FnOnce()) {
        let mut state = self.state();
        if !state.keeps_all {
            state.flush();
        }
        say();
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If anything couldn't be written.
    pub(super) fn finish(self) -> Result<(), Failed> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.flush();
        state.failure.map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn flush(&mut self) {
        if !self.held.is_empty() && self.failure.is_none() {
            let written = if inherited().is_open[1] {
                write_all(io::stdout(), &self.held)
            } else {
                Err(Errno::BADF.into())
            };
            self.failure = written.err().map(Failed);
            self.written = Instant::now();
        }
        self.held.clear();
    }
}
