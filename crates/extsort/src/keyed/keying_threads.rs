//! Threads that build the keys of pieces, for all inputs in turn.

use super::keying::{Keying, Piece};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Bytes that are read for a piece. Its last record may extend it.
pub(super) const PIECE_BYTES: usize = 256 << 10;
/// Most records of a piece. Bounds the memory for keys of short records.
pub(super) const PIECE_RECORDS: usize = 16 << 10;
/// Memory per piece: its bytes, its index and its keyed records.
const PIECE_MEMORY: u64 = 5 * PIECE_BYTES as u64;
/// Pieces per thread: one in work, one waiting.
const PIECES_PER_THREAD: usize = 2;
/// Most of the budget that pieces take, as a divisor. The [`OWN_PIECES`] are always granted.
const BUDGET_SHARE: u64 = 8;
/// Pieces needed without threads: that of the input opened first, and that of the input being read.
const OWN_PIECES: u64 = 2;
/// Least bytes of a piece, where many inputs are read at the same time.
const PIECE_BYTES_MIN: u64 = 4 << 10;
/// Pieces of each input of a merge: one that is merged, one whose keys are built, and the rest of
/// the bytes that were read.
const MERGED_PIECES: u64 = 3;
/// Of up to this number of inputs, the keys of as many pieces are built at once as of a single one.
const FEW_INPUTS: usize = 4;
/// Share of the budget for the pieces of a merge, as a divisor.
const MERGED_BUDGET_SHARE: u64 = 4;
/// Least bytes of a record, on average, for the number of records in a piece.
const RECORD_BYTES: usize = PIECE_BYTES / PIECE_RECORDS;
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 512 << 10;

/// The number of threads that build keys, and their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyingMemory {
    /// Number of threads; 0 if the reading thread builds the keys.
    pub threads: usize,
    /// Bytes of the budget for all pieces.
    pub taken_bytes: u64,
    /// Bytes that are read for a piece. Its last record may extend it.
    piece_bytes: usize,
    /// Most pieces of an input in flight at once.
    pieces_each: usize,
    /// True if a piece ends where a read does, so that none waits for more of the input.
    is_prompt: bool,
}

impl KeyingMemory {
    /// Number of pieces that fit in this memory at once.
    #[must_use]
    pub fn pieces(&self) -> usize {
        (self.taken_bytes / PIECE_MEMORY) as usize
    }

    /// Plans up to `threads` threads, as many as an eighth of the budget has room for.
    #[must_use]
    pub fn of_budget(budget_bytes: u64, threads: usize) -> KeyingMemory {
        let pieces_max = (budget_bytes / BUDGET_SHARE / PIECE_MEMORY).saturating_sub(OWN_PIECES);
        let threads = threads.min(pieces_max as usize / PIECES_PER_THREAD);
        let threads = if threads > 1 { threads } else { 0 };
        let pieces = OWN_PIECES + (threads * PIECES_PER_THREAD) as u64;
        KeyingMemory {
            threads,
            taken_bytes: pieces * PIECE_MEMORY,
            piece_bytes: PIECE_BYTES,
            pieces_each: (threads * PIECES_PER_THREAD).max(1),
            is_prompt: false,
        }
    }

    /// Plans for an input that pauses: the reading thread builds the keys of what has come.
    #[must_use]
    pub fn prompt() -> KeyingMemory {
        KeyingMemory { is_prompt: true, ..KeyingMemory::of_budget(0, 0) }
    }

    /// Plans for `inputs` inputs that are read at the same time. Their pieces are smaller the more
    /// inputs there are.
    #[must_use]
    pub fn of_merge(budget_bytes: u64, threads: usize, inputs: usize) -> KeyingMemory {
        let threads = if threads > 1 { threads } else { 0 };
        KeyingMemory::of_inputs(budget_bytes / MERGED_BUDGET_SHARE, threads, inputs)
    }

    /// Divides this memory among `inputs` inputs that are read at the same time; `None` if it is
    /// too little.
    fn shared_by(&self, inputs: usize) -> Option<KeyingMemory> {
        let shared = KeyingMemory::of_inputs(self.taken_bytes, self.threads, inputs);
        (shared.taken_bytes <= self.taken_bytes).then_some(shared)
    }

    /// Divides `bytes` bytes, or more if these are too few.
    fn of_inputs(bytes: u64, threads: usize, inputs: usize) -> KeyingMemory {
        let (pieces_each, pieces_of_input) = match threads {
            0 => (1, MERGED_PIECES),
            // One of them may have nearly all records.
            _ if inputs <= FEW_INPUTS => {
                let pieces = threads * PIECES_PER_THREAD;
                (pieces, OWN_PIECES + pieces as u64)
            }
            _ => (2, MERGED_PIECES),
        };
        let pieces = inputs as u64 * pieces_of_input + threads as u64;
        let times = PIECE_MEMORY / PIECE_BYTES as u64;
        let piece_bytes =
            (bytes / pieces.max(1) / times).clamp(PIECE_BYTES_MIN, PIECE_BYTES as u64);
        KeyingMemory {
            threads,
            taken_bytes: pieces * times * piece_bytes,
            piece_bytes: piece_bytes as usize,
            pieces_each,
            is_prompt: false,
        }
    }
}

/// A piece and its keyed records.
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

/// A piece with its keys, or the error of building them.
pub(super) type Keyed<I> = io::Result<Task<I>>;

/// Builds the keys of pieces. The first piece for the threads starts them.
pub struct KeyingThreads<K: Keying> {
    pub(super) keying: Arc<K>,
    memory: KeyingMemory,
    started: Mutex<Option<Started<K::Index>>>,
}

struct Started<I> {
    tasks: Sender<(Task<I>, Sender<Keyed<I>>)>,
    threads: Vec<JoinHandle<()>>,
}

impl<K: Keying> KeyingThreads<K> {
    /// Plans as many threads and pieces as `memory` is for.
    #[must_use]
    pub fn new(keying: Arc<K>, memory: KeyingMemory) -> Self {
        KeyingThreads { keying, memory, started: Mutex::new(None) }
    }

    /// No threads: the reading thread builds the keys.
    #[must_use]
    pub fn none(keying: Arc<K>) -> Self {
        KeyingThreads::new(keying, KeyingMemory::of_budget(0, 0))
    }

    /// The same threads for `inputs` inputs that are read at the same time, in the same memory.
    /// `None` if it is too little.
    pub(super) fn shared_by(&self, inputs: usize) -> Option<KeyingThreads<K>> {
        let memory = self.memory.shared_by(inputs)?;
        Some(KeyingThreads::new(Arc::clone(&self.keying), memory))
    }

    /// Most pieces of an input in flight at once.
    pub(super) fn pieces_max(&self) -> usize {
        self.memory.pieces_each
    }

    /// True if a piece ends where a read does.
    pub(super) fn is_prompt(&self) -> bool {
        self.memory.is_prompt
    }

    /// Bytes that are read for a piece.
    pub(super) fn piece_bytes(&self) -> usize {
        self.memory.piece_bytes
    }

    /// Most records of a piece.
    pub(super) fn piece_records(&self) -> usize {
        self.memory.piece_bytes / RECORD_BYTES
    }

    /// Builds the keys of a piece on the calling thread.
    pub(super) fn work(keying: &K, mut task: Task<K::Index>) -> Keyed<K::Index> {
        let Task { bytes, index, at, keyed } = &mut task;
        keyed.clear();
        keying.key(bytes, index, *at, keyed)?;
        Ok(task)
    }

    /// Starts building the keys of a piece. `is_only` is true if no other piece is in flight or
    /// soon will be; the calling thread then builds the keys.
    pub(super) fn start(&self, task: Task<K::Index>, is_only: bool) -> Receiver<Keyed<K::Index>> {
        let (done, result) = bounded(1);
        let mut started = self.started.lock();
        if started.is_none() && self.memory.threads > 0 && !is_only {
            *started = self.spawn();
        }
        match &*started {
            Some(Started { tasks, .. }) if !is_only => {
                // If all threads are gone, the receiver reports it.
                drop(tasks.send((task, done)));
            }
            _ => {
                drop(started);
                // The caller still holds the receiver.
                drop(done.send(Self::work(&self.keying, task)));
            }
        }
        result
    }

    /// Starts the wanted number of threads, or as many as the system allows.
    fn spawn(&self) -> Option<Started<K::Index>> {
        let (tasks, tasks_from) = unbounded::<(Task<K::Index>, Sender<Keyed<K::Index>>)>();
        let mut threads = Vec::new();
        for number in 0..self.memory.threads {
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
            // The reader has already reported a missing result.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
    }
}
