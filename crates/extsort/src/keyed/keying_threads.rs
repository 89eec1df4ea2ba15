//! Threads that make the keys of pieces, for one input after the other.

use super::keying::{Keying, Piece};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Bytes that a piece begins with; its last record may make it longer.
pub(super) const PIECE_BYTES: usize = 256 << 10;
/// Most records of a piece, so that short ones with their keys don't take much more.
pub(super) const PIECE_RECORDS: usize = 16 << 10;
/// What a piece takes: its bytes, its index, and its keyed records.
const PIECE_MEMORY: u64 = 5 * PIECE_BYTES as u64;
/// Pieces for each thread: one is worked on while another waits.
const PIECES_PER_THREAD: usize = 2;
/// Pieces take at most this share of the budget, but for those that take turns without threads.
const BUDGET_SHARE: u64 = 8;
/// Pieces that there are without threads: of the input that was opened first, and of the one that
/// is read.
const OWN_PIECES: u64 = 2;
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 512 << 10;

/// How many threads make keys, and what that takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyingMemory {
    /// None if whoever reads makes the keys, too.
    pub threads: usize,
    /// Bytes of the budget.
    pub taken_bytes: u64,
}

impl KeyingMemory {
    /// How many pieces that takes at a time.
    #[must_use]
    pub fn pieces(&self) -> usize {
        (self.taken_bytes / PIECE_MEMORY) as usize
    }

    /// Up to `threads` threads, or as many as an eighth of the budget has room for.
    #[must_use]
    pub fn of_budget(budget_bytes: u64, threads: usize) -> KeyingMemory {
        let pieces_max = (budget_bytes / BUDGET_SHARE / PIECE_MEMORY).saturating_sub(OWN_PIECES);
        let threads = threads.min(pieces_max as usize / PIECES_PER_THREAD);
        let threads = if threads > 1 { threads } else { 0 };
        let pieces = OWN_PIECES + (threads * PIECES_PER_THREAD) as u64;
        KeyingMemory { threads, taken_bytes: pieces * PIECE_MEMORY }
    }
}

/// A piece on its way.
pub(super) struct Task<I> {
    pub(super) bytes: Vec<u8>,
    pub(super) index: I,
    pub(super) at: Piece,
    pub(super) keyed: Vec<u8>,
}

impl<I: Default> Default for Task<I> {
    fn default() -> Self {
        let at = Piece { input: 0, record: 1, offset: 0 };
        Task { bytes: Vec::new(), index: I::default(), at, keyed: Vec::new() }
    }
}

/// What becomes of a piece.
pub(super) type Keyed<I> = io::Result<Task<I>>;

/// Makes the keys of pieces, on threads that the first piece for them starts.
pub struct KeyingThreads<K: Keying> {
    pub(super) keying: Arc<K>,
    wanted: usize,
    started: Mutex<Option<Started<K::Index>>>,
}

struct Started<I> {
    tasks: Sender<(Task<I>, Sender<Keyed<I>>)>,
    threads: Vec<JoinHandle<()>>,
}

impl<K: Keying> KeyingThreads<K> {
    /// Up to `threads` threads; with 0, whoever reads makes the keys.
    #[must_use]
    pub fn new(keying: Arc<K>, threads: usize) -> Self {
        KeyingThreads { keying, wanted: threads, started: Mutex::new(None) }
    }

    /// Pieces that may be under way at once.
    pub(super) fn pieces_max(&self) -> usize {
        (self.wanted * PIECES_PER_THREAD).max(1)
    }

    /// Makes the keys of a piece on this thread.
    pub(super) fn work(keying: &K, mut task: Task<K::Index>) -> Keyed<K::Index> {
        let Task { bytes, index, at, keyed } = &mut task;
        keyed.clear();
        keying.key(bytes, index, *at, keyed)?;
        Ok(task)
    }

    /// Has the keys of a piece made. `is_only`: no other piece is under way, or will soon be.
    pub(super) fn start(&self, task: Task<K::Index>, is_only: bool) -> Receiver<Keyed<K::Index>> {
        let (done, result) = bounded(1);
        let mut started = self.started.lock();
        if started.is_none() && self.wanted > 0 && !is_only {
            *started = self.spawn();
        }
        match &*started {
            Some(Started { tasks, .. }) if !is_only => {
                // If all threads are gone, the result says so.
                drop(tasks.send((task, done)));
            }
            _ => {
                drop(started);
                // The result is asked for by whoever called this.
                drop(done.send(Self::work(&self.keying, task)));
            }
        }
        result
    }

    /// As many threads as wanted, or as the system allows.
    fn spawn(&self) -> Option<Started<K::Index>> {
        let (tasks, tasks_from) = unbounded::<(Task<K::Index>, Sender<Keyed<K::Index>>)>();
        let mut threads = Vec::new();
        for number in 0..self.wanted {
            let (keying, tasks_from) = (Arc::clone(&self.keying), tasks_from.clone());
            let work = move || {
                while let Ok((task, done)) = tasks_from.recv() {
                    // The reader may have given up.
                    drop(done.send(Self::work(&keying, task)));
                }
            };
            let thread = thread::Builder::new().name(format!("xsort-key-{number}"));
            match thread.stack_size(STACK_BYTES).spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(_) => break,
            }
        }
        (!threads.is_empty()).then_some(Started { tasks, threads })
    }
}

impl<K: Keying> Drop for KeyingThreads<K> {
    fn drop(&mut self) {
        if let Some(Started { tasks, threads }) = self.started.get_mut().take() {
            drop(tasks);
            // A reader that lacks a result has said so.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
    }
}
