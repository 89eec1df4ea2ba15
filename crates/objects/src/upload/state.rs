//! The state of an upload: its parts, and the writes that wait for memory.

use super::part::{PartBuffer, Piece};
use crate::client::Part;
use crate::failure::GaveUp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xsort_disk::{ALIGNMENT, Lease, Request};

/// A part that is being filled. Several writers may copy to several parts at once.
pub(super) struct OpenPart {
    /// `None` once it is being sent.
    pub(super) buffer: Mutex<Option<PartBuffer>>,
    is_full: AtomicBool,
}

impl OpenPart {
    /// Copies pages. Returns `false` if the part has been sent.
    pub(super) fn fill(&self, start: usize, bytes: &[u8]) -> bool {
        let mut buffer = self.buffer.lock();
        let Some(buffer) = buffer.as_mut() else { return false };
        buffer.fill(start, bytes);
        if buffer.is_full() {
            self.is_full.store(true, Ordering::Release);
        }
        true
    }

    /// Returns the first missing page of the first `bytes` bytes, or the page after them if none is
    /// missing.
    pub(super) fn first_missing_page(&self, bytes: usize) -> usize {
        let buffer = self.buffer.lock();
        let missing = buffer.as_ref().and_then(|buffer| buffer.first_missing(bytes));
        missing.unwrap_or(bytes.div_ceil(ALIGNMENT))
    }
}

/// A write with pieces that are still to be copied.
pub(super) struct WaitingWrite {
    pub(super) request: Request,
    pub(super) pieces: Vec<Piece>,
}

/// The store's identifier of the upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum UploadNumber {
    /// It has not begun.
    #[default]
    None,
    /// A thread is requesting it.
    Asked,
    Known(String),
    /// It is over: completed or aborted.
    Over,
}

/// The state of an upload.
#[derive(Default)]
pub(super) struct State {
    pub(super) number: UploadNumber,
    /// Parts that are being filled.
    pub(super) open: BTreeMap<u64, Arc<OpenPart>>,
    /// The last part that has a page.
    pub(super) last: Option<u64>,
    pub(super) waiting: Vec<WaitingWrite>,
    /// Number of parts in the queue or being sent.
    pub(super) sending: usize,
    /// True while a thread makes the store drop all parts.
    pub(super) is_aborting: bool,
    /// The parts that left memory, and the store's answers for them.
    pub(super) sent: BTreeMap<u64, Option<Part>>,
    /// Parts that an earlier process has sent and the store has unchanged. They are not sent again
    /// if the same bytes are written.
    pub(super) stored: BTreeMap<u64, Part>,
    /// The part whose first bytes only the store has.
    pub(super) begun: Option<BegunPart>,
    /// The first failure, and its offset in the object.
    pub(super) failure: Option<(GaveUp, u64)>,
}

/// A part in the store of which only the end will be written again.
#[derive(Clone, Copy, Debug)]
pub(super) struct BegunPart {
    pub(super) part: u64,
    /// Number of its first bytes that will not be written.
    pub(super) bytes: usize,
    /// Their expected CRC-32.
    pub(super) crc: u32,
}

/// Where a piece of a write belongs.
pub(super) enum Place {
    /// To this open part; the number is the piece's index.
    Open(usize, Arc<OpenPart>),
    /// The part of the piece with this index was sent.
    Sent(usize),
    /// There is no memory for a new part.
    NoMemory,
}

impl State {
    /// Returns a piece that can be copied now, preferably to an open part.
    pub(super) fn place(
        &mut self,
        pieces: &[Piece],
        part_bytes: usize,
        take: impl FnOnce() -> Option<Lease>,
    ) -> Place {
        for (number, piece) in pieces.iter().enumerate() {
            if let Some(part) = self.open.get(&piece.part) {
                return Place::Open(number, Arc::clone(part));
            }
        }
        let part = pieces[0].part;
        if self.sent.contains_key(&part) {
            return Place::Sent(0);
        }
        let Some(memory) = take() else { return Place::NoMemory };
        let start = self.begun.filter(|begun| begun.part == part).map_or(0, |begun| begun.bytes);
        let opened = Arc::new(OpenPart {
            buffer: Mutex::new(Some(PartBuffer::new(memory, part_bytes, start))),
            is_full: AtomicBool::new(false),
        });
        self.open.insert(part, Arc::clone(&opened));
        self.last = self.last.max(Some(part));
        Place::Open(0, opened)
    }

    /// Takes the parts that can be sent: all full ones except the last one.
    pub(super) fn take_full(&mut self) -> Vec<(u64, PartBuffer)> {
        let Some(last) = self.last else { return Vec::new() };
        let full: Vec<u64> = self
            .open
            .range(..last)
            .filter(|(_, part)| part.is_full.load(Ordering::Acquire))
            .map(|(number, _)| *number)
            .collect();
        full.into_iter().filter_map(|number| Some((number, self.take(number)?))).collect()
    }

    /// Takes the memory of an open part, to send it.
    pub(super) fn take(&mut self, part: u64) -> Option<PartBuffer> {
        let buffer = self.open.remove(&part)?.buffer.lock().take()?;
        self.sent.insert(part, None);
        self.sending += 1;
        Some(buffer)
    }

    /// Takes the memory of the only part, to send it as a whole object.
    pub(super) fn take_whole(&mut self) -> Option<PartBuffer> {
        self.open.remove(&0)?.buffer.lock().take()
    }
}
