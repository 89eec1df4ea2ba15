//! Standard output, in GNU du's order with standard error.
//!
//! Lines are held back until there are enough of them, or until a message is printed on standard
//! error. So both come in the same order as from GNU du, which holds no lines back.

use crate::gnu_commands::{reason, write_all};
use parking_lot::Mutex;
use rustix::io::Errno;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};
use xsort_disk::inherited;

/// Bytes to write at once.
const HELD_BYTES: usize = 64 << 10;
/// After this time, all lines are written with the next one, so that users can follow a slow walk.
const HELD_TIME: Duration = Duration::from_millis(100);

/// Standard output, shared by all threads.
pub(super) struct OrderedOutput {
    state: Mutex<State>,
    is_terminal: bool,
}

struct State {
    held: Vec<u8>,
    /// The time of the last write.
    written: Instant,
    /// The first error. Nothing is written after it.
    error: Option<OutputError>,
    /// True if all lines are held back until the end.
    holds_all: bool,
}

/// The error of a failed write.
#[derive(Debug)]
pub(super) struct OutputError(io::Error);

impl OutputError {
    /// GNU du's message when it exits: without the reason, except where closing the output also
    /// fails with it.
    pub(super) fn at_exit(&self) -> Vec<u8> {
        match self.0.raw_os_error() {
            Some(number) if number == Errno::BADF.raw_os_error() => self.with_reason(),
            _ => b"write error".to_vec(),
        }
    }

    /// The message with the reason.
    pub(super) fn with_reason(&self) -> Vec<u8> {
        format!("write error: {}", reason(&self.0)).into_bytes()
    }
}

impl OrderedOutput {
    pub(super) fn new() -> OrderedOutput {
        let state =
            State { held: Vec::new(), written: Instant::now(), error: None, holds_all: false };
        OrderedOutput { state: Mutex::new(state), is_terminal: io::stdout().is_terminal() }
    }

    /// True if standard output is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Holds all lines back until the end, because a bar is drawn on the same terminal.
    pub(super) fn hold_until_end(&self) {
        self.state.lock().holds_all = true;
    }

    /// Calls `print`, which appends lines.
    pub(super) fn write(&self, print: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state.lock();
        print(&mut state.held);
        let is_enough = self.is_terminal || state.held.len() >= HELD_BYTES;
        if !state.holds_all && (is_enough || state.written.elapsed() >= HELD_TIME) {
            state.flush();
        }
    }

    /// Writes the lines held back, then calls `print` before any other line is written.
    pub(super) fn flush_before(&self, print: impl FnOnce()) {
        let mut state = self.state.lock();
        if !state.holds_all {
            state.flush();
        }
        print();
    }

    /// Writes the remaining lines.
    ///
    /// # Errors
    /// If any line couldn't be written.
    pub(super) fn finish(self) -> Result<(), OutputError> {
        let mut state = self.state.into_inner();
        state.flush();
        state.error.map_or(Ok(()), Err)
    }
}

impl State {
    fn flush(&mut self) {
        if !self.held.is_empty() && self.error.is_none() {
            let written = if inherited().is_open[1] {
                write_all(io::stdout(), &self.held)
            } else {
                Err(Errno::BADF.into())
            };
            self.error = written.err().map(OutputError);
            self.written = Instant::now();
        }
        self.held.clear();
    }
}
