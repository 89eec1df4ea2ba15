//! Transfers of a simulated disk under way: those that a drive takes its time for, and those that
//! any thread may go on with, in an order that nobody should rely on.

use super::drives::{Clock, drive_of};
use super::faults::SimOptions;
use super::world::Handle;
use crate::progress::Progress;
use crate::{Direction, Operation, Request};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A request under way.
#[derive(Debug)]
pub(super) struct SimTransfer {
    pub(super) request: Request,
    pub(super) progress: Progress,
    pub(super) handle: Handle,
    /// Whether its file knows of it; a file from before a power cut doesn't.
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

/// All transfers that no thread has in its hands.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<SimTransfer>,
    /// Transfers that a drive is not through with, by when they end and by number.
    timed: BTreeMap<(Instant, u64), SimTransfer>,
    /// Counts the transfers that take a drive's time.
    started: u64,
    /// One for each drive.
    clocks: Vec<Clock>,
    /// Counts what was taken out, to choose the next one by.
    taken: u64,
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(drives: usize) -> Queue {
        let state = State { clocks: vec![Clock::default(); drives], ..State::default() };
        Queue { state: Mutex::new(state), arrived: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a transfer: at its drive, if it is on one that takes time, and that for all of its
    /// bytes once, in however many steps they move.
    pub(super) fn start(&self, options: &SimOptions, transfer: SimTransfer) {
        let Some(number) = drive_of(&options.drives, &transfer.handle.path) else {
            return self.go_on(transfer);
        };
        let Request { direction, bytes, .. } = transfer.request;
        let mut state = self.lock();
        let clock = &mut state.clocks[number];
        let ends_at = clock.end(&options.drives[number], direction, bytes as u64, Instant::now());
        state.started += 1;
        let name = (ends_at, state.started);
        state.timed.insert(name, transfer);
        drop(state);
        self.arrived.notify_one();
    }

    /// Takes a transfer back that has a step to go: another thread may go on with it.
    pub(super) fn go_on(&self, transfer: SimTransfer) {
        self.lock().ready.push(transfer);
        self.arrived.notify_one();
    }

    /// A transfer that can go on, once there is one; `None` when the queue was closed and is empty.
    pub(super) fn take(&self, options: &SimOptions) -> Option<SimTransfer> {
        let mut state = self.lock();
        loop {
            let next_end = state.end_due(Instant::now());
            if !state.ready.is_empty() {
                state.taken += 1;
                let chosen = options.hash(&[0x0d, state.taken]) % state.ready.len() as u64;
                return Some(state.ready.swap_remove(chosen as usize));
            }
            state = match next_end {
                Some(ends_at) => {
                    let wait = ends_at.saturating_duration_since(Instant::now());
                    self.arrived.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                // A transfer in another thread's hands may come back here; that thread then takes
                // it itself.
                None if state.is_closed => return None,
                None => self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// No transfer will be started any more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_all();
    }
}

impl State {
    /// Lays out what drives are through with; returns when the next transfer ends.
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
