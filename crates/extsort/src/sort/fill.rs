//! Filling areas with the input: the first stage of forming runs.
//!
//! Reads are started a few at a time, in the order of the input and across the border from one chunk to the next, so that the drive always
//! has some and writes to the same drive find their turn.

use super::chunks::{Extent, chunks};
use super::job::{Input, Job};
use crate::Error;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use xsort_disk::{Completion, Direction, Lease, Request, align_down, align_up};
use xsort_records::Key;

/// Most bytes of one read of the input.
const PIECE_BYTES: u64 = 1 << 20;
/// Reads of the input in flight: enough for several drives behind one file system, few enough that writes find their turn.
const READS_IN_FLIGHT: usize = 24;
/// An area full of records, on its way to be sorted.
pub(crate) struct Chunk {
    pub(crate) number: usize,
    pub(crate) extents: Vec<Extent>,
    pub(crate) area: Lease,
    pub(crate) read_time: Duration,
    pub(crate) arrived_at: Instant,
}

/// Fills areas with the input, a few reads ahead.
pub(crate) struct Filler<'a, K> {
    job: &'a Job<'a, K>,
    inputs: &'a [Input],
    /// Those that were not begun.
    chunks: std::vec::IntoIter<Vec<Extent>>,
    next_number: usize,
    /// Free areas.
    pub(crate) areas: Vec<Lease>,
    filling: VecDeque<Filling>,
    in_flight: usize,
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
    input: usize,
    offset: u64,
    bytes: u64,
    bytes_needed: u64,
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
            pieces.push(Piece { input: extent.input, offset, bytes, bytes_needed, lease: None });
        }
    }
    pieces
}

impl<'a, K: Key> Filler<'a, K> {
    pub(crate) fn new(job: &'a Job<'a, K>, inputs: &'a [Input], areas: Vec<Lease>) -> Self {
        let sizes: Vec<u64> = inputs.iter().map(|input| input.bytes).collect();
        let cut: Vec<_> = chunks(&sizes, job.plan.chunk_bytes, job.plan.extents_max).collect();
        let (completions_to, completions_from) = unbounded();
        Filler {
            job,
            inputs,
            chunks: cut.into_iter(),
            next_number: 0,
            areas,
            filling: VecDeque::new(),
            in_flight: 0,
            completions_to,
            completions_from,
        }
    }

    /// There is more to read, and nothing being read for want of an area.
    pub(crate) fn is_starved(&self) -> bool {
        self.in_flight == 0 && self.chunks.len() > 0
    }

    /// Starts as many reads as may be in flight.
    pub(crate) fn start_reads(&mut self) {
        while self.in_flight < READS_IN_FLIGHT {
            let Some(index) = self.chunk_to_read() else { return };
            let chunk = &mut self.filling[index];
            let piece = &chunk.pieces[chunk.issued];
            self.in_flight += 1;
            self.job.submit(Request {
                direction: Direction::Read,
                file: self.inputs[piece.input].file,
                offset: piece.offset,
                bytes: piece.bytes as usize,
                bytes_needed: piece.bytes_needed as usize,
                lease: chunk.rest.split_off_front(piece.bytes as usize),
                tag: ((chunk.number as u64) << 24) | chunk.issued as u64,
                reply: self.completions_to.clone(),
            });
            chunk.issued += 1;
        }
    }

    /// The chunk whose next piece is next, begun now if there is an area for it.
    fn chunk_to_read(&mut self) -> Option<usize> {
        if let Some(index) = self.filling.iter().position(|chunk| chunk.issued < chunk.pieces.len()) {
            return Some(index);
        }
        if self.areas.is_empty() {
            return None;
        }
        let extents = self.chunks.next()?;
        self.filling.push_back(Filling {
            number: self.next_number,
            pieces: pieces(&extents),
            extents,
            issued: 0,
            arrived: 0,
            begun_at: Instant::now(),
            rest: self.areas.pop().expect("checked above"),
        });
        self.next_number += 1;
        Some(self.filling.len() - 1)
    }

    /// Takes a finished read in; returns the chunk if it is complete now.
    pub(crate) fn finish(&mut self, completion: Completion) -> Result<Option<Chunk>, Error> {
        self.in_flight -= 1;
        self.job.traffic.finish(&completion);
        completion.result?;
        let number = (completion.tag >> 24) as usize;
        let index = self.filling.iter().position(|chunk| chunk.number == number).expect("its read was ours");
        let chunk = &mut self.filling[index];
        let piece = &mut chunk.pieces[(completion.tag & 0xff_ffff) as usize];
        piece.lease = Some(completion.lease);
        self.job.observer.advance(piece.bytes_needed);
        chunk.arrived += 1;
        if chunk.arrived < chunk.pieces.len() {
            return Ok(None);
        }
        let Filling { number, extents, pieces, rest, begun_at, .. } =
            self.filling.remove(index).expect("index was just found");
        let mut leases = pieces.into_iter().map(|piece| piece.lease.expect("all have arrived"));
        let mut area = leases.next().expect("a chunk has records");
        leases.for_each(|lease| area.join(lease));
        area.join(rest);
        let read_time = begun_at.elapsed();
        Ok(Some(Chunk { number, extents, area, read_time, arrived_at: Instant::now() }))
    }
}

/// Moves the extents' records together, behind those of the first; returns where they begin.
pub(crate) fn compact(area: &mut [u8], extents: &[Extent]) -> usize {
    let lead = |extent: &Extent| (extent.offset - align_down(extent.offset)) as usize;
    let first_byte = lead(&extents[0]);
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
