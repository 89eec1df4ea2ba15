//! Room for batches that were decoded and not taken yet.
//!
//! Threads decode ahead of the row group that is taken, as far as there is room. A thread that has
//! nothing in the room and works on that row group never waits: otherwise the others could fill the
//! room, and all would wait for it.

use parking_lot::{Condvar, Mutex};

/// Room for a number of bytes.
#[derive(Debug)]
pub(crate) struct Gate {
    bytes_max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Bytes in the room.
    bytes: usize,
    /// Bytes that each thread has in the room.
    of_threads: Vec<usize>,
    /// The row group that is taken.
    current: usize,
    is_closed: bool,
}

impl Gate {
    pub(crate) fn new(bytes_max: usize, threads: usize) -> Gate {
        let state = State { bytes: 0, of_threads: vec![0; threads], current: 0, is_closed: false };
        Gate { bytes_max, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until there is room for `bytes` bytes of row group `group` from a thread. Returns
    /// false if nothing will be taken any more.
    pub(crate) fn enter(&self, thread: usize, group: usize, bytes: usize) -> bool {
        let mut state = self.state.lock();
        loop {
            let is_awaited = group <= state.current && state.of_threads[thread] == 0;
            if state.is_closed || is_awaited || state.bytes + bytes <= self.bytes_max {
                state.bytes += bytes;
                state.of_threads[thread] += bytes;
                return !state.is_closed;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Notes that `bytes` bytes of a thread were taken.
    pub(crate) fn leave(&self, thread: usize, bytes: usize) {
        let mut state = self.state.lock();
        state.bytes -= bytes;
        state.of_threads[thread] -= bytes;
        self.changed.notify_all();
    }

    /// Notes that row group `group` is taken from now on.
    pub(crate) fn take(&self, group: usize) {
        self.state.lock().current = group;
        self.changed.notify_all();
    }

    /// Ends all waiting.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}
