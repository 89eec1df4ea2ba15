//! Reads one input: cuts it into pieces of whole records and turns each piece into keyed records.

use super::keying::{Cut, Keying, Piece};
use super::keying_threads::{Keyed, KeyingThreads, Task};
use crate::lines::{InputBytes, MapAgain, MapInput, MapPart};
use crossbeam_channel::{Receiver, bounded};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;

/// Most capacity for keyed records that is kept from piece to piece, in pieces.
const KEPT_PIECES_MAX: usize = 4;

/// The rest of an input, from its first record on.
pub struct InputRest<'d> {
    /// The reader of the bytes after `read`.
    pub from: InputBytes<'d>,
    /// The bytes already read, from the first record on.
    pub read: Vec<u8>,
    /// The position of the first record.
    pub at: Piece,
}

/// Moves an input to its first record, on the first read.
pub type ToFirstRecord =
    Arc<dyn for<'d> Fn(InputBytes<'d>) -> io::Result<InputRest<'d>> + Send + Sync>;

/// Returns the function for an input that begins with a record. `input` is its number.
#[must_use]
pub fn from_beginning(input: u32) -> ToFirstRecord {
    beginning_at(Piece { input, record: 1, offset: 0 })
}

/// Returns the function for an input whose bytes begin with the record at `at`.
pub(super) fn beginning_at(at: Piece) -> ToFirstRecord {
    Arc::new(move |from| Ok(InputRest { from, read: Vec::new(), at }))
}

/// Turns an input into keyed records, any number of times. `to_first` moves it to its first record.
/// Its records end with `delimiter`, except where that is a part of a record. `number` is the
/// input's number. `forget` is called if what was keyed doesn't count.
pub fn to_keyed_again<K: Keying>(
    to_first: ToFirstRecord,
    threads: Arc<KeyingThreads<K>>,
    (delimiter, number): (u8, u32),
    forget: Arc<dyn Fn() + Send + Sync>,
) -> MapAgain {
    let keying = Arc::clone(&threads.keying);
    let own = move || Arc::new(KeyingThreads::none(Arc::clone(&keying)));
    let (first, all) = (Arc::clone(&to_first), Arc::clone(&threads));
    let parts = move |parts| {
        let (first, shared) = (Arc::clone(&first), Arc::new(all.shared_by(parts)?));
        let part = move |is_first: bool| {
            let to_first = if is_first { Arc::clone(&first) } else { from_beginning(number) };
            to_keyed(to_first, Arc::clone(&shared))
        };
        Some(Box::new(part) as MapPart)
    };
    MapAgain {
        whole: Arc::new(move || to_keyed(Arc::clone(&to_first), Arc::clone(&threads))),
        delimiter,
        sample: Arc::new(move || to_keyed(from_beginning(number), own())),
        parts: Arc::new(parts),
        forget,
    }
}

/// Turns an input into keyed records. `to_first` moves it to its first record.
pub fn to_keyed<K: Keying>(to_first: ToFirstRecord, threads: Arc<KeyingThreads<K>>) -> MapInput {
    Box::new(move |from| Box::new(KeyedInput::new(from, to_first, threads)))
}

/// Reads an input as keyed records.
pub struct KeyedInput<'d, K: Keying> {
    start: Option<(InputBytes<'d>, ToFirstRecord)>,
    /// The rest of the input; `None` at its end.
    from: Option<InputBytes<'d>>,
    /// Bytes that were read and aren't cut into records yet.
    uncut: Vec<u8>,
    at: Piece,
    threads: Arc<KeyingThreads<K>>,
    /// Pieces whose keys are being built, in order.
    pending: VecDeque<Receiver<Keyed<K::Index>>>,
    /// True if the last piece that was cut is longer than usual.
    is_long: bool,
    /// The piece that the caller reads, and the bytes it has read of it.
    current: Task<K::Index>,
    taken: usize,
    free: Vec<Task<K::Index>>,
}

impl<'d, K: Keying> KeyedInput<'d, K> {
    /// Reads `from` as keyed records. `to_first` moves to the first record.
    pub fn new(
        from: InputBytes<'d>,
        to_first: ToFirstRecord,
        threads: Arc<KeyingThreads<K>>,
    ) -> Self {
        KeyedInput {
            start: Some((from, to_first)),
            from: None,
            uncut: Vec::new(),
            at: Piece { input: 0, record: 1, offset: 0 },
            threads,
            pending: VecDeque::new(),
            is_long: false,
            current: Task::default(),
            taken: 0,
            free: Vec::new(),
        }
    }

    /// Goes on to the next piece with keys. Returns false after the last one.
    fn next_piece(&mut self) -> io::Result<bool> {
        if let Some((from, to_first)) = self.start.take() {
            let InputRest { from, read, at } = to_first(from)?;
            (self.from, self.uncut, self.at) = (Some(from), read, at);
        }
        let done = std::mem::take(&mut self.current);
        self.taken = 0;
        let piece_bytes = self.threads.piece_bytes();
        // Memory for a long record is freed before the next one is read.
        if done.keyed.capacity() <= KEPT_PIECES_MAX * piece_bytes
            && done.bytes.capacity() <= 2 * piece_bytes
        {
            self.free.push(done);
        } else {
            drop(done);
        }
        let pieces_max = self.threads.pieces_max();
        while self.pending.len() < pieces_max
            && (!self.is_long || self.pending.is_empty())
            && (self.from.is_some() || !self.uncut.is_empty())
        {
            self.cut_piece();
        }
        let Some(oldest) = self.pending.pop_front() else { return Ok(false) };
        let gone = |_| io::Error::other("a thread that makes keys is gone");
        self.current = oldest.recv().map_err(gone)??;
        if self.current.bytes.capacity() > 2 * piece_bytes {
            self.current.bytes = Vec::new();
        }
        Ok(true)
    }

    /// Cuts the next piece and queues it for its keys. An error takes the piece's place, so the
    /// first error of the input is returned.
    fn cut_piece(&mut self) {
        let mut task = self.free.pop().unwrap_or_default();
        let result = match self.read_piece(&mut task) {
            Ok(false) => return,
            Ok(true) => {
                let is_only =
                    self.pending.is_empty() && self.from.is_none() && self.uncut.is_empty();
                self.threads.start(task, is_only)
            }
            Err(error) => {
                self.from = None;
                self.uncut = Vec::new();
                let (done, result) = bounded(1);
                drop(done.send(Err(error)));
                result
            }
        };
        self.pending.push_back(result);
    }

    /// Reads whole records. Returns false at the end of the input.
    fn read_piece(&mut self, task: &mut Task<K::Index>) -> io::Result<bool> {
        let Task { bytes, index, at, .. } = task;
        // Memory that an earlier piece filled needn't be zeroed again.
        let mut filled = self.uncut.len();
        bytes.resize(bytes.len().max(filled), 0);
        bytes[..filled].copy_from_slice(&self.uncut);
        self.uncut.clear();
        *at = self.at;
        let piece_bytes = self.threads.piece_bytes();
        let records_max = self.threads.piece_records();
        let (mut wanted, mut empty) = (piece_bytes, io::empty());
        // What an earlier read left may have whole records.
        let mut reads = filled == 0 || !self.threads.is_prompt();
        loop {
            if reads {
                self.read_up_to(bytes, filled, wanted)?;
            } else {
                bytes.truncate(filled);
            }
            (reads, filled) = (true, bytes.len());
            if bytes.is_empty() {
                return Ok(false);
            }
            let is_last = self.from.is_none();
            match self.threads.keying.cut(bytes, is_last, records_max, *at, index)? {
                Cut::Records { bytes: own, records } => {
                    self.uncut.extend_from_slice(&bytes[own..]);
                    bytes.truncate(own);
                    self.is_long = bytes.capacity() > 2 * piece_bytes;
                    self.at.record += records;
                    self.at.offset += own as u64;
                    return Ok(true);
                }
                Cut::Part { .. } if is_last => {
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, "it ends in a record"));
                }
                Cut::Part { bytes_max } if bytes.len() > bytes_max => {
                    let rest = self.from.as_mut().map_or(&mut empty as &mut dyn Read, |from| from);
                    return Err(self.threads.keying.too_long(bytes, rest, *at));
                }
                // Memory for a long record is scarce, so the buffer grows by a quarter.
                Cut::Part { bytes_max } => {
                    wanted = (bytes.len().max(piece_bytes) * 5 / 4).min(bytes_max + 1);
                }
            }
        }
    }

    /// Reads until `bytes` has `wanted` bytes or the input ends; or once, if pieces end where reads
    /// do. `filled` bytes are valid already.
    fn read_up_to(
        &mut self,
        bytes: &mut Vec<u8>,
        mut filled: usize,
        wanted: usize,
    ) -> io::Result<()> {
        if bytes.len() < wanted && self.from.is_some() {
            bytes.reserve_exact(wanted - bytes.len());
            bytes.resize(wanted, 0);
        }
        while let Some(from) = &mut self.from
            && filled < wanted
        {
            match from.read(&mut bytes[filled..wanted]) {
                Ok(0) => self.from = None,
                Ok(read) => {
                    filled += read;
                    if self.threads.is_prompt() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(())
    }
}

impl<K: Keying> Read for KeyedInput<'_, K> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.current.keyed.len() {
            if !self.next_piece()? {
                return Ok(0);
            }
        }
        let rest = &self.current.keyed[self.taken..];
        let bytes = rest.len().min(out.len());
        out[..bytes].copy_from_slice(&rest[..bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}
