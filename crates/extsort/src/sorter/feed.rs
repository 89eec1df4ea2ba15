//! What all pushers of a sort share: their turns to send, their memory and their counts.

use super::engine::Engine;
use super::options::{BUFFERS_IN, Shares, SorterOptions, budget_of_record};
use super::outcome::{Ended, Outcome};
use super::stream::PushedStream;
use crate::Error;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::{Mutex, MutexGuard};
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::thread::JoinHandle;

/// The queue from the pushers to the engine.
pub(super) struct Feed {
    turn: Mutex<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(super) outcome: Arc<Outcome>,
    /// Empty buffers for reuse, returned by the stream.
    free: Receiver<Vec<u8>>,
    free_to: Sender<Vec<u8>>,
    pub(super) options: SorterOptions,
    pub(super) shares: Shares,
    /// Bytes that are left for pushers' buffers.
    memory: Mutex<usize>,
    pushers: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
}

/// Where buffers go.
enum State {
    /// To an engine that the first buffer starts.
    Waiting(Box<Engine>),
    Running(Sender<Vec<u8>>),
    /// Nowhere: the input has ended, or the sort has failed.
    Over,
}

/// The exclusive right to send buffers, one after the other.
pub(super) struct Turn<'f> {
    feed: &'f Feed,
    state: MutexGuard<'f, State>,
}

impl Feed {
    /// A feed to an engine that isn't started yet.
    pub(super) fn new(options: SorterOptions, shares: Shares, engine: Engine) -> Feed {
        let (free_to, free) = unbounded();
        Feed {
            outcome: Arc::clone(&engine.watch.outcome),
            turn: Mutex::new(State::Waiting(Box::new(engine))),
            thread: Mutex::default(),
            free,
            free_to,
            options,
            shares,
            memory: Mutex::new(shares.pushers_bytes),
            pushers: AtomicU64::new(0),
            records: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Counts another pusher, and returns the size of its buffer in bytes.
    pub(super) fn enter(&self) -> usize {
        self.pushers.fetch_add(1, AcqRel);
        self.shares.take_pusher_bytes(&mut self.memory.lock())
    }

    /// Removes a pusher from the count, and returns its buffer's memory.
    pub(super) fn leave(&self, buffer_bytes: usize) {
        let mut left = self.memory.lock();
        *left = (*left + buffer_bytes).min(self.shares.pushers_bytes);
        // A pusher does this last: its records are counted by now.
        self.pushers.fetch_sub(1, AcqRel);
    }

    /// Number of pushers.
    pub(super) fn pushers(&self) -> u64 {
        self.pushers.load(Acquire)
    }

    /// Counts records that were sent, or are about to be.
    pub(super) fn count(&self, records: u64, bytes: u64) {
        self.records.fetch_add(records, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Records and bytes that were pushed.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.records.load(Relaxed), self.bytes.load(Relaxed))
    }

    /// Returns an empty buffer with room for at least `bytes` bytes.
    pub(super) fn buffer(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.free.try_recv().unwrap_or_default();
        buffer.reserve_exact(bytes);
        buffer
    }

    /// Returns the error for a record that is too long with its key.
    pub(super) fn refuse(&self, record_bytes: usize, keyed_bytes: usize) -> Error {
        Error::LongRecord {
            bytes: record_bytes as u64,
            budget_bytes: self.options.budget_bytes,
            needed_bytes: budget_of_record(&self.options, keyed_bytes),
        }
    }

    /// Waits for the right to send.
    pub(super) fn turn(&self) -> Turn<'_> {
        Turn { feed: self, state: self.turn.lock() }
    }

    /// Ends the stream with a last buffer. If no buffer was sent before, the engine knows the size
    /// of the data, and uses no more memory and threads than that needs.
    pub(super) fn close(&self, last: Vec<u8>) -> Result<(), Ended> {
        let mut turn = self.turn();
        match std::mem::replace(&mut *turn.state, State::Over) {
            State::Waiting(engine) => {
                let bytes = last.len() as u64;
                let thread = engine.spawn(Box::new(Cursor::new(last)), Some(bytes))?;
                *self.thread.lock() = Some(thread);
                return Ok(());
            }
            running => *turn.state = running,
        }
        turn.send(last)?;
        // An empty buffer marks the end.
        turn.send_buffer(Vec::new())?;
        *turn.state = State::Over;
        Ok(())
    }

    /// Stops the sort and waits until its memory and scratch are freed.
    pub(super) fn abandon(&self) {
        self.outcome.stop();
        let state = std::mem::replace(&mut *self.turn.lock(), State::Over);
        if let State::Waiting(_) = state {
            self.outcome.end(Err(Error::Cancelled));
        }
        drop(state);
        if let Some(thread) = self.thread.lock().take() {
            // The outcome has its result, even after a panic.
            drop(thread.join());
        }
    }
}

impl Turn<'_> {
    /// Sends keyed records. Waits while the queue is full.
    pub(super) fn send(&mut self, buffer: Vec<u8>) -> Result<(), Ended> {
        if buffer.is_empty() { Ok(()) } else { self.send_buffer(buffer) }
    }

    fn send_buffer(&mut self, buffer: Vec<u8>) -> Result<(), Ended> {
        if let State::Waiting(_) = *self.state {
            self.start()?;
        }
        match &*self.state {
            State::Running(to) => to.send(buffer).map_err(|_| Ended),
            State::Waiting(_) | State::Over => Err(Ended),
        }
    }

    fn start(&mut self) -> Result<(), Ended> {
        let State::Waiting(engine) = std::mem::replace(&mut *self.state, State::Over) else {
            unreachable!("it is started once");
        };
        let (to, buffers) = bounded(BUFFERS_IN);
        let (free, watch) = (self.feed.free_to.clone(), Arc::clone(&engine.watch));
        let stream = PushedStream::new(buffers, free, watch);
        let thread = engine.spawn(Box::new(stream), None)?;
        *self.feed.thread.lock() = Some(thread);
        *self.state = State::Running(to);
        Ok(())
    }
}
