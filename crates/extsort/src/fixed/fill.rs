//! Filling areas with chunks: the first stage of every pass.
//!
//! Reads are started a few at a time, in the order of the chunks and across the border from one to
//! the next, so that the drive always has some and writes to the same drive find their turn.

use super::chunks::Extent;
use super::job::Job;
use crate::Error;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::iter::Peekable;
use std::ops::Range;
use std::time::{Duration, Instant};
use xsort_disk::{Completion, Direction, FileId, Lease, Request, align_down, align_up};
use xsort_records::Key;

/// Most bytes of one read.
const PIECE_BYTES: u64 = 1 << 20;
/// Reads in flight: enough for several drives behind one file system, few enough that writes find
/// their turn.
const IN_FLIGHT_BYTES: u64 = 24 << 20;
/// And if they are small, so many.
const IN_FLIGHT_MAX: usize = 64;

/// An area full of records, on its way to be sorted.
pub(crate) struct Chunk {
    pub(crate) number: usize,
    pub(crate) extents: Vec<Extent>,
    pub(crate) area: Lease,
    pub(crate) read_time: Duration,
    pub(crate) arrived_at: Instant,
}

/// Fills areas with chunks, a few reads ahead.
pub(crate) struct Filler<'a, K, I: Iterator> {
    job: &'a Job<'a, K>,
    files: &'a [FileId],
    /// Those that were not begun, by number.
    chunks: Peekable<I>,
    /// Free areas.
    pub(crate) areas: Vec<Lease>,
    filling: VecDeque<Filling>,
    /// Chunks that are complete, for the owner to take.
    pub(crate) filled: Vec<Chunk>,
    in_flight: usize,
    in_flight_bytes: u64,
    reads_are_progress: bool,
    /// Stretches of the spool that were read and still take up space.
    read: Vec<Range<u64>>,
    completions_to: Sender<Completion>,
    /// Where its reads end.
    pub(crate) completions_from: Receiver<Completion>,
}

/// A chunk whose reads are on their way.
struct Filling {
    number: usize,
    extents: Vec<Extent>,
    pieces: Vec<Piece>,
    issued: usize,
    arrived: usize,
    begun_at: Instant,
    /// What of the area lies behind the pieces issued so far.
    rest: Lease,
}

/// One read.
struct Piece {
    file: usize,
    offset: u64,
    bytes: u64,
    bytes_needed: u64,
    /// The whole pages of the file that nobody else needs.
    own_pages: Range<u64>,
    /// The memory, once it has arrived.
    lease: Option<Lease>,
}

/// The reads that fill the extents, each extent from a page's start on, back to back.
fn pieces(extents: &[Extent]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for extent in extents {
        let end = extent.offset + extent.bytes;
        for offset in extent.aligned().step_by(PIECE_BYTES as usize) {
            let bytes = PIECE_BYTES.min(align_up(end) - offset);
            let bytes_needed = bytes.min(end - offset);
            let own_pages = align_up(offset.max(extent.offset))..align_down(offset + bytes_needed);
            pieces.push(Piece {
                file: extent.file,
                offset,
                bytes,
                bytes_needed,
                own_pages,
                lease: None,
            });
        }
    }
    pieces
}

impl<'a, K: Key, I: Iterator<Item = (usize, Vec<Extent>)>> Filler<'a, K, I> {
    pub(crate) fn new(
        job: &'a Job<'a, K>,
        files: &'a [FileId],
        chunks: I,
        areas: Vec<Lease>,
        reads_are_progress: bool,
    ) -> Self {
        let (completions_to, completions_from) = unbounded();
        Filler {
            job,
            files,
            chunks: chunks.peekable(),
            areas,
            filling: VecDeque::new(),
            filled: Vec::new(),
            in_flight: 0,
            in_flight_bytes: 0,
            reads_are_progress,
            read: Vec::new(),
            completions_to,
            completions_from,
        }
    }

    /// There is nothing more to fill; all chunks were handed out.
    pub(crate) fn is_done(&mut self) -> bool {
        self.filling.is_empty() && self.filled.is_empty() && self.chunks.peek().is_none()
    }

    /// There is more to read, and nothing being read for want of an area.
    pub(crate) fn is_starved(&mut self) -> bool {
        self.in_flight == 0 && self.chunks.peek().is_some()
    }

    /// Starts as many reads as may be in flight.
    pub(crate) fn start_reads(&mut self) {
        while self.in_flight_bytes < IN_FLIGHT_BYTES && self.in_flight < IN_FLIGHT_MAX {
            let Some(index) = self.chunk_to_read() else { return };
            let chunk = &mut self.filling[index];
            let Some(piece) = chunk.pieces.get(chunk.issued) else {
                self.hand_out(index);
                continue;
            };
            self.in_flight += 1;
            self.in_flight_bytes += piece.bytes;
            let lease = chunk.rest.split_off_front(piece.bytes as usize);
            lease.populate(0..lease.len());
            self.job.submit(Request {
                direction: Direction::Read,
                file: self.files[piece.file],
                offset: piece.offset,
                bytes: piece.bytes as usize,
                bytes_needed: piece.bytes_needed as usize,
                lease,
                tag: ((chunk.number as u64) << 24) | chunk.issued as u64,
                reply: self.completions_to.clone(),
            });
            chunk.issued += 1;
        }
    }

    /// The chunk whose next piece is next, begun now if there is an area for it. One that has just
    /// been begun may have no pieces.
    fn chunk_to_read(&mut self) -> Option<usize> {
        if let Some(index) = self.filling.iter().position(|chunk| chunk.issued < chunk.pieces.len())
        {
            return Some(index);
        }
        if self.areas.is_empty() {
            return None;
        }
        let (number, extents) = self.chunks.next()?;
        self.filling.push_back(Filling {
            number,
            pieces: pieces(&extents),
            extents,
            issued: 0,
            arrived: 0,
            begun_at: Instant::now(),
            rest: self.areas.pop().expect("checked above"),
        });
        Some(self.filling.len() - 1)
    }

    /// Takes a finished read in.
    pub(crate) fn finish(&mut self, completion: Completion) -> Result<(), Error> {
        self.in_flight -= 1;
        self.in_flight_bytes -= completion.bytes as u64;
        self.job.traffic.finish(&completion);
        completion.result?;
        let number = (completion.tag >> 24) as usize;
        let index = self
            .filling
            .iter()
            .position(|chunk| chunk.number == number)
            .expect("its read was ours");
        let chunk = &mut self.filling[index];
        let piece = &mut chunk.pieces[(completion.tag & 0xff_ffff) as usize];
        piece.lease = Some(completion.lease);
        if self.reads_are_progress {
            self.job.observer.advance(piece.bytes_needed);
        }
        let (file, own_pages) = (self.files[piece.file], piece.own_pages.clone());
        chunk.arrived += 1;
        if chunk.arrived == chunk.pieces.len() {
            self.hand_out(index);
        }
        self.give_back(file, own_pages)
    }

    /// Gives the space of what was read back, if it is the spool's and has become enough to be
    /// worth it.
    fn give_back(&mut self, file: FileId, pages: Range<u64>) -> Result<(), Error> {
        let Some(spool) = &self.job.spool else { return Ok(()) };
        if spool.file != file || pages.is_empty() {
            return Ok(());
        }
        self.read.push(pages);
        if self.read.iter().map(|pages| pages.end - pages.start).sum::<u64>()
            < spool.give_back_bytes()
        {
            return Ok(());
        }
        self.read.sort_unstable_by_key(|pages| pages.start);
        for stretch in self.read.chunk_by(|before, after| before.end == after.start) {
            let (start, end) = (stretch[0].start, stretch[stretch.len() - 1].end);
            self.job.disk.discard(file, start, end - start)?;
        }
        self.read.clear();
        Ok(())
    }

    /// Puts a chunk's area together again and lays it out for the owner.
    fn hand_out(&mut self, index: usize) {
        let Filling { number, extents, pieces, rest, begun_at, .. } =
            self.filling.remove(index).expect("the caller has just looked");
        let leases =
            pieces.into_iter().map(|piece| piece.lease.expect("all have arrived")).chain([rest]);
        let area = leases
            .reduce(|mut area, lease| {
                area.join(lease);
                area
            })
            .expect("there is the rest at least");
        let read_time = begun_at.elapsed();
        self.filled.push(Chunk { number, extents, area, read_time, arrived_at: Instant::now() });
    }
}

/// Moves the extents' records together, behind those of the first; returns where they begin.
pub(crate) fn compact(area: &mut [u8], extents: &[Extent]) -> usize {
    let lead = |extent: &Extent| (extent.offset - align_down(extent.offset)) as usize;
    let first_byte = extents.first().map_or(0, lead);
    let mut to = first_byte;
    let mut from = 0;
    for extent in extents {
        let start = from + lead(extent);
        if start != to {
            area.copy_within(start..start + extent.bytes as usize, to);
        }
        to += extent.bytes as usize;
        from += (extent.aligned().end - extent.aligned().start) as usize;
    }
    first_byte
}
