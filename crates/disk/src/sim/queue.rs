//! The transfers under way on a simulated disk. Some occupy a drive; the others can be continued by
//! any thread, in an order that no caller should rely on.

use super::drives::{Clock, drive_of};
use super::faults::SimOptions;
use super::file_system::Handle;
use crate::progress::Progress;
use crate::{Direction, Operation, Request};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::time::Instant;

/// A request under way.
#[derive(Debug)]
pub(super) struct SimTransfer {
    pub(super) request: Request,
    pub(super) progress: Progress,
    pub(super) handle: Handle,
    /// Whether its file counts it; a file from before a power cut doesn't.
    pub(super) is_counted: bool,
    pub(super) attempt: u32,
}

impl SimTransfer {
    pub(super) fn operation(&self) -> Operation {
        match self.request.direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
        }
    }
}

/// All transfers that no thread is working on.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<SimTransfer>,
    /// Transfers that still occupy a drive, by their end and a number.
    timed: BTreeMap<(Instant, u64), SimTransfer>,
    /// Number of transfers put on drives so far.
    started: u64,
    /// One clock for each drive.
    clocks: Vec<Clock>,
    /// Number of transfers taken so far; the choice of the next one depends on it.
    taken: u64,
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(drives: usize) -> Queue {
        let state = State { clocks: vec![Clock::default(); drives], ..State::default() };
        Queue { state: Mutex::new(state), arrived: Condvar::new() }
    }

    /// Starts a transfer. If its file is on a drive, it occupies the drive once for all of its
    /// bytes, however many steps move them.
    pub(super) fn start(&self, options: &SimOptions, transfer: SimTransfer) {
        let Some(number) = drive_of(&options.drives, &transfer.handle.path) else {
            return self.go_on(transfer);
        };
        let Request { direction, bytes, .. } = transfer.request;
        let mut state = self.state.lock();
        let clock = &mut state.clocks[number];
        let ends_at = clock.end(&options.drives[number], direction, bytes as u64, Instant::now());
        state.started += 1;
        let key = (ends_at, state.started);
        state.timed.insert(key, transfer);
        drop(state);
        self.arrived.notify_one();
    }

    /// Takes back an unfinished transfer, which any thread may continue.
    pub(super) fn go_on(&self, transfer: SimTransfer) {
        self.state.lock().ready.push(transfer);
        self.arrived.notify_one();
    }

    /// Waits for a transfer that can be continued. Returns `None` once the queue is closed and
    /// empty.
    pub(super) fn take(&self, options: &SimOptions) -> Option<SimTransfer> {
        let mut state = self.state.lock();
        loop {
            let next_end = state.end_due(Instant::now());
            if !state.ready.is_empty() {
                state.taken += 1;
                let chosen = options.hash(&[0x0d, state.taken]) % state.ready.len() as u64;
                return Some(state.ready.swap_remove(chosen as usize));
            }
            match next_end {
                Some(ends_at) => drop(self.arrived.wait_until(&mut state, ends_at)),
                // A transfer in another thread's hands may come back here; that thread then takes
                // it itself.
                None if state.is_closed => return None,
                None => self.arrived.wait(&mut state),
            }
        }
    }

    /// Closes the queue: no more transfers will be started.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.arrived.notify_all();
    }
}

impl State {
    /// Moves transfers that their drives have finished to `ready`. Returns when the next transfer
    /// ends.
    fn end_due(&mut self, now: Instant) -> Option<Instant> {
        while let Some(next) = self.timed.first_entry() {
            let (ends_at, _) = *next.key();
            if ends_at > now {
                return Some(ends_at);
            }
            self.ready.push(next.remove());
        }
        None
    }
}
