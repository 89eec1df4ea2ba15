//! An input on its way in: pieces of it, one after the other, become keyed records.

use super::keying::{Cut, Keying, Piece};
use super::keying_threads::{Keyed, KeyingThreads, PIECE_BYTES, PIECE_RECORDS, Task};
use crate::variable::{InputBytes, MapInput};
use crossbeam_channel::{Receiver, bounded};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;

/// Memory for keyed records that is kept from piece to piece.
const KEPT_BYTES_MAX: usize = 4 * PIECE_BYTES;

/// The records of an input from some place on.
pub struct InputRest<'d> {
    /// What is still to be read.
    pub from: InputBytes<'d>,
    /// What was read before it, from the first record on.
    pub read: Vec<u8>,
    /// Where that is.
    pub at: Piece,
}

/// Goes to the first record of an input, when it is first read.
pub type ToFirstRecord =
    Box<dyn for<'d> FnOnce(InputBytes<'d>) -> io::Result<InputRest<'d>> + Send>;

/// The way to the first byte of the input of this number.
#[must_use]
pub fn from_beginning(input: u32) -> ToFirstRecord {
    let at = Piece { input, record: 1, offset: 0 };
    Box::new(move |from| Ok(InputRest { from, read: Vec::new(), at }))
}

/// Makes the keyed records of an input, to the first of which `to_first` goes.
pub fn to_keyed<K: Keying>(to_first: ToFirstRecord, threads: Arc<KeyingThreads<K>>) -> MapInput {
    Box::new(move |from| Box::new(KeyedInput::new(from, to_first, threads)))
}

/// The keyed records of an input.
pub struct KeyedInput<'d, K: Keying> {
    start: Option<(InputBytes<'d>, ToFirstRecord)>,
    /// What is still to be read, up to its end.
    from: Option<InputBytes<'d>>,
    /// What was read and isn't cut yet.
    uncut: Vec<u8>,
    at: Piece,
    threads: Arc<KeyingThreads<K>>,
    /// Pieces whose keys are being made, in order.
    pending: VecDeque<Receiver<Keyed<K::Index>>>,
    /// Whether the piece that was cut last is longer than others.
    is_long: bool,
    /// The piece whose records are being taken, and how many of their bytes were.
    current: Task<K::Index>,
    taken: usize,
    free: Vec<Task<K::Index>>,
}

impl<'d, K: Keying> KeyedInput<'d, K> {
    /// The records of `from`, to the first of which `to_first` goes.
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

    /// Goes on to the next piece with keys; false behind the last one.
    fn next_piece(&mut self) -> io::Result<bool> {
        if let Some((from, to_first)) = self.start.take() {
            let InputRest { from, read, at } = to_first(from)?;
            (self.from, self.uncut, self.at) = (Some(from), read, at);
        }
        let done = std::mem::take(&mut self.current);
        self.taken = 0;
        // Memory for a long record isn't kept, not even until the next one is read.
        if done.keyed.capacity() <= KEPT_BYTES_MAX && done.bytes.capacity() <= 2 * PIECE_BYTES {
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
        if self.current.bytes.capacity() > 2 * PIECE_BYTES {
            self.current.bytes = Vec::new();
        }
        Ok(true)
    }

    /// Cuts the next piece off, and has its keys made. An error takes the piece's place, so that
    /// the first one in the input is the one that is returned.
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

    /// Reads whole records; false if there are no more.
    fn read_piece(&mut self, task: &mut Task<K::Index>) -> io::Result<bool> {
        let Task { bytes, index, at, .. } = task;
        // What an earlier piece has left in this memory needn't be zeroed again.
        let mut filled = self.uncut.len();
        bytes.resize(bytes.len().max(filled), 0);
        bytes[..filled].copy_from_slice(&self.uncut);
        self.uncut.clear();
        *at = self.at;
        let (mut wanted, mut empty) = (PIECE_BYTES, io::empty());
        loop {
            self.read_up_to(bytes, filled, wanted)?;
            filled = bytes.len();
            if bytes.is_empty() {
                return Ok(false);
            }
            let is_last = self.from.is_none();
            match self.threads.keying.cut(bytes, is_last, PIECE_RECORDS, *at, index)? {
                Cut::Records { bytes: own, records } => {
                    self.uncut.extend_from_slice(&bytes[own..]);
                    bytes.truncate(own);
                    self.is_long = bytes.capacity() > 2 * PIECE_BYTES;
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
                // Memory for a long record is scarce.
                Cut::Part { bytes_max } => {
                    wanted = (bytes.len().max(PIECE_BYTES) * 5 / 4).min(bytes_max + 1);
                }
            }
        }
    }

    /// Reads until there are `wanted` bytes, of which `filled` are there, or no more.
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
                Ok(read) => filled += read,
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
