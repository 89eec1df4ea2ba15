//! Filling areas with chunks: the [`Feed`] of every pass over whole chunks.
//!
//! Reads are started a few at a time, in the order of the chunks and across the border from one
//! chunk to the next: so the drive always has some, and writes to the same drive aren't held up.
//!
//! A read into memory that nobody has touched waits until the system provides it, which can take
//! longer than the drive. So chunks that will be read into such memory are begun ahead, and workers
//! that have nothing to do touch it (docs/experiments/2026-11-26-first-touch-by-all.md).

use super::chunks::Extent;
use super::job::SortJob;
use super::pipeline::Feed;
use super::report::UnitTimes;
use crate::Error;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::iter::Peekable;
use std::ops::Range;
use std::time::{Duration, Instant};
use xsort_disk::{Completion, Direction, FileId, Lease, Prefault, Request, align_down, align_up};
use xsort_records::Key;

/// Reads in flight, of as many bytes as the disk likes best: enough for several drives behind one
/// file system, few enough that writes aren't held up.
const READS_IN_FLIGHT: u64 = 24;
/// Most reads in flight, however small they are.
const IN_FLIGHT_MAX: usize = 64;

/// A chunk in memory, on its way to a worker.
pub(crate) struct Chunk {
    pub(crate) number: usize,
    pub(crate) extents: Vec<Extent>,
    pub(crate) area: Lease,
    read_time: Duration,
    arrived_at: Instant,
}

impl Chunk {
    /// Its times up to now, when a worker begins with it.
    pub(crate) fn times(&self) -> UnitTimes {
        UnitTimes::begin(self.read_time, self.arrived_at)
    }
}

/// Fills areas with chunks, a few reads ahead.
pub(crate) struct Filler<'a, K, I: Iterator> {
    job: &'a SortJob<'a, K>,
    files: &'a [FileId],
    /// Chunks that were not begun, with their numbers.
    chunks: Peekable<I>,
    /// Free areas. The last one is taken first.
    areas: Vec<Lease>,
    /// So many of them, the first ones, were not used before.
    unused_areas: usize,
    /// Memory that chunks will be read to, if it was not used before.
    prefaults: VecDeque<Prefault>,
    filling: VecDeque<Filling>,
    /// Chunks that are complete.
    filled: VecDeque<Chunk>,
    in_flight: usize,
    in_flight_bytes: u64,
    /// As many bytes are in flight at once.
    in_flight_bytes_max: u64,
    /// Whether the bytes read are the phase's progress; else the bytes written are.
    reads_are_progress: bool,
    /// Whether a chunk is handed out only after all before it.
    is_in_order: bool,
    /// Ranges of the spool that were read and still take up space.
    spool_read: Vec<Range<u64>>,
    completions_to: Sender<Completion>,
    completions_from: Receiver<Completion>,
}

/// A chunk that is being read.
struct Filling {
    number: usize,
    extents: Vec<Extent>,
    reads: Vec<ChunkRead>,
    issued: usize,
    arrived: usize,
    /// When its first read was issued.
    begun_at: Instant,
    /// The part of the area behind the reads issued so far.
    rest: Lease,
}

/// One read.
struct ChunkRead {
    file: usize,
    offset: u64,
    bytes: u64,
    bytes_needed: u64,
    /// Those of `bytes_needed` that no other chunk needs.
    own_bytes: u64,
    /// The whole pages of the file that no other chunk needs.
    own_pages: Range<u64>,
    /// The memory, once it has arrived.
    lease: Option<Lease>,
}

/// The reads that fill the extents, each extent from a page's start on, back to back, with at most
/// `read_bytes` of a file's bytes each.
fn reads_of(extents: &[Extent], read_bytes: impl Fn(usize) -> u64) -> Vec<ChunkRead> {
    let mut reads = Vec::new();
    for extent in extents {
        let end = extent.offset + extent.bytes;
        let most = read_bytes(extent.file);
        for offset in extent.aligned().step_by(most as usize) {
            let bytes = most.min(align_up(end) - offset);
            let bytes_needed = bytes.min(end - offset);
            let own = offset.max(extent.offset)..offset + bytes_needed;
            reads.push(ChunkRead {
                file: extent.file,
                offset,
                bytes,
                bytes_needed,
                own_bytes: own.end - own.start,
                own_pages: align_up(own.start)..align_down(own.end),
                lease: None,
            });
        }
    }
    reads
}

impl<'a, K: Key, I: Iterator<Item = (usize, Vec<Extent>)>> Filler<'a, K, I> {
    /// Reads `chunks`, which have rising numbers, of `files` into `areas`.
    pub(crate) fn new(
        job: &'a SortJob<'a, K>,
        files: &'a [FileId],
        chunks: I,
        areas: Vec<Lease>,
        reads_are_progress: bool,
    ) -> Self {
        let (completions_to, completions_from) = unbounded();
        let longest = files.iter().map(|file| job.disk.read_bytes(*file)).max();
        // Without a file there are no reads, but chunks that are complete without one.
        let in_flight_bytes_max = READS_IN_FLIGHT * longest.unwrap_or(1);
        Filler {
            job,
            files,
            chunks: chunks.peekable(),
            unused_areas: areas.len(),
            areas,
            prefaults: VecDeque::new(),
            filling: VecDeque::new(),
            filled: VecDeque::new(),
            in_flight: 0,
            in_flight_bytes: 0,
            in_flight_bytes_max,
            reads_are_progress,
            is_in_order: job.writes_in_order,
            spool_read: Vec::new(),
            completions_to,
            completions_from,
        }
    }

    /// Hands out a chunk only once all before it have been read.
    pub(crate) fn in_order(self) -> Self {
        Filler { is_in_order: true, ..self }
    }

    /// The areas that are free when all chunks are worked on.
    pub(crate) fn into_areas(self) -> Vec<Lease> {
        self.areas
    }

    /// The index of the chunk with the next read, begun now if there is an area for it; or of one
    /// that has no reads.
    fn chunk_to_read(&mut self) -> Option<usize> {
        let is_unread = |chunk: &Filling| chunk.issued < chunk.reads.len().max(1);
        let index = match self.filling.iter().position(is_unread) {
            Some(index) => index,
            None => self.begin_chunk()?,
        };
        while self.areas.len() == self.unused_areas
            && self.filling.len() <= index + self.job.plan.threads
            && self.begin_chunk().is_some()
        {}
        Some(index)
    }

    /// Begins the next chunk if there is one, and an area for it. Returns its index.
    fn begin_chunk(&mut self) -> Option<usize> {
        self.chunks.peek().filter(|_| !self.areas.is_empty())?;
        let (number, extents) = self.chunks.next()?;
        let rest = self.areas.pop()?;
        let reads = reads_of(&extents, |file| self.job.disk.read_bytes(self.files[file]));
        if self.job.plan.spilled_chunks == 0 && self.areas.len() < self.unused_areas {
            self.unused_areas = self.areas.len();
            let bytes: u64 = reads.iter().map(|read| read.bytes).sum();
            self.prefaults.extend(rest.prefault(0..bytes as usize));
        }
        let begun_at = Instant::now();
        self.filling.push_back(Filling {
            number,
            reads,
            extents,
            issued: 0,
            arrived: 0,
            begun_at,
            rest,
        });
        Some(self.filling.len() - 1)
    }

    /// Gives the space of pages that were read back, if they are the spool's, as soon as there are
    /// enough of them to be worth it.
    fn discard_spooled(&mut self, file: FileId, pages: Range<u64>) -> Result<(), Error> {
        let Some(spool) = &self.job.spool else { return Ok(()) };
        if spool.file != file || pages.is_empty() {
            return Ok(());
        }
        self.spool_read.push(pages);
        if self.spool_read.iter().map(|pages| pages.end - pages.start).sum::<u64>()
            < spool.give_back_bytes()
        {
            return Ok(());
        }
        self.spool_read.sort_unstable_by_key(|pages| pages.start);
        for neighbours in self.spool_read.chunk_by(|before, after| before.end == after.start) {
            let (start, end) = (neighbours[0].start, neighbours[neighbours.len() - 1].end);
            self.job.disk.discard(file, start, end - start)?;
        }
        self.spool_read.clear();
        Ok(())
    }

    /// All of a chunk is in memory: puts its area together again.
    fn complete(&mut self, index: usize) {
        let Filling { number, extents, reads, rest, begun_at, .. } =
            self.filling.remove(index).expect("the caller knows it");
        let leases =
            reads.into_iter().map(|read| read.lease.expect("all have arrived")).chain([rest]);
        let area = leases
            .reduce(|mut area, lease| {
                area.join(lease);
                area
            })
            .expect("the rest is always there");
        let read_time = begun_at.elapsed();
        self.filled.push_back(Chunk {
            number,
            extents,
            area,
            read_time,
            arrived_at: Instant::now(),
        });
    }
}

impl<K: Key, I: Iterator<Item = (usize, Vec<Extent>)>> Feed for Filler<'_, K, I> {
    type Unit = Chunk;

    fn start_reads(&mut self) {
        while self.in_flight_bytes < self.in_flight_bytes_max && self.in_flight < IN_FLIGHT_MAX {
            let Some(index) = self.chunk_to_read() else { return };
            let chunk = &mut self.filling[index];
            let Some(read) = chunk.reads.get(chunk.issued) else {
                self.complete(index);
                continue;
            };
            if chunk.issued == 0 {
                chunk.begun_at = Instant::now();
            }
            self.in_flight += 1;
            self.in_flight_bytes += read.bytes;
            let lease = chunk.rest.split_off_front(read.bytes as usize);
            lease.populate(0..lease.len());
            self.job.submit(Request {
                direction: Direction::Read,
                file: self.files[read.file],
                offset: read.offset,
                bytes: read.bytes as usize,
                bytes_needed: read.bytes_needed as usize,
                lease,
                tag: ((chunk.number as u64) << 24) | chunk.issued as u64,
                reply: self.completions_to.clone(),
            });
            chunk.issued += 1;
        }
    }

    fn next_prefault(&mut self) -> Option<Prefault> {
        self.prefaults.pop_front()
    }

    fn next_unit(&mut self) -> Option<Chunk> {
        if !self.is_in_order {
            return self.filled.pop_front();
        }
        // Reads are started in the order of the chunks: the next one is under way or here.
        let reading = self.filling.iter().map(|chunk| chunk.number).min();
        let (index, chunk) =
            self.filled.iter().enumerate().min_by_key(|(_, chunk)| chunk.number)?;
        if reading.is_some_and(|reading| reading < chunk.number) {
            return None;
        }
        self.filled.remove(index)
    }

    fn is_done(&mut self) -> bool {
        self.filling.is_empty() && self.filled.is_empty() && self.chunks.peek().is_none()
    }

    fn is_starved(&mut self) -> bool {
        self.in_flight == 0 && self.chunks.peek().is_some()
    }

    fn completions(&self) -> &Receiver<Completion> {
        &self.completions_from
    }

    fn finish_read(&mut self, completion: Completion) -> Result<(), Error> {
        self.in_flight -= 1;
        self.in_flight_bytes -= completion.bytes as u64;
        self.job.traffic.finish(&completion);
        completion.result?;
        let number = (completion.tag >> 24) as usize;
        let index = self
            .filling
            .iter()
            .position(|chunk| chunk.number == number)
            .expect("a read belongs to a chunk that is being read");
        let chunk = &mut self.filling[index];
        let read = &mut chunk.reads[(completion.tag & 0xff_ffff) as usize];
        read.lease = Some(completion.lease);
        if self.reads_are_progress {
            self.job.observer.advance(read.own_bytes);
        }
        let (file, own_pages) = (self.files[read.file], read.own_pages.clone());
        chunk.arrived += 1;
        if chunk.arrived == chunk.reads.len() {
            self.complete(index);
        }
        self.discard_spooled(file, own_pages)
    }

    fn finish_unit(&mut self, area: Option<Lease>) {
        if self.reads_are_progress && self.unused_areas > 0 && self.job.plan.spilled_chunks > 0 {
            // From now on areas are used again. The first ones are for the chunks that stay.
            let unused = self.areas.iter().take(self.job.plan.resident_chunks()).rev();
            self.prefaults.extend(unused.flat_map(|area| area.prefault(0..area.len())));
            self.unused_areas = 0;
        }
        self.areas.extend(area);
    }
}

/// Moves the extents' records together, behind those of the first extent. Returns where they begin.
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
