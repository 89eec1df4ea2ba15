//! Filling areas with chunks: the [`Feed`] of every pass over whole chunks.
//!
//! A few reads are in flight at a time, in the order of the chunks and across the boundary between
//! two chunks. So the drive is always busy, and writes to the same drive aren't delayed.
//!
//! A read into memory that has never been touched waits until the kernel provides the pages, which
//! can take longer than the drive. So chunks that will be read into such memory are begun early,
//! and idle workers touch it (docs/experiments/2026-11-26-first-touch-by-all.md).

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

/// Number of reads in flight, each of the size that the disk prefers. This is enough for several
/// drives under one file system, and few enough not to delay writes.
const READS_IN_FLIGHT: u64 = 24;
/// Maximum number of reads in flight, however small they are.
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
    /// The chunk's times so far. Called when a worker begins with it.
    pub(crate) fn times(&self) -> UnitTimes {
        UnitTimes::begin(self.read_time, self.arrived_at)
    }
}

/// Numbers and extents of chunks.
type NumberedChunks<'a> = Box<dyn Iterator<Item = (usize, Vec<Extent>)> + 'a>;

/// Fills areas with chunks. A few reads are in flight at a time.
pub(crate) struct Filler<'a> {
    job: &'a SortJob<'a>,
    files: &'a [FileId],
    /// Chunks that have not been begun, with their numbers.
    chunks: Peekable<NumberedChunks<'a>>,
    /// Free areas. The last one is taken first.
    areas: Vec<Lease>,
    /// The number of areas, from the first on, that have never been used.
    unused_areas: usize,
    /// Never-used memory that chunks will be read into.
    prefaults: VecDeque<Prefault>,
    filling: VecDeque<Filling>,
    /// Chunks that are complete.
    filled: VecDeque<Chunk>,
    in_flight: usize,
    in_flight_bytes: u64,
    /// Maximum number of bytes in flight.
    in_flight_bytes_max: u64,
    /// True if the phase's progress counts bytes read; otherwise it counts bytes written.
    reads_are_progress: bool,
    /// True if chunks are handed out in order.
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
    /// The time at which the first read was issued.
    begun_at: Instant,
    /// The rest of the area, after the reads issued so far.
    rest: Lease,
}

/// One read of a chunk.
struct ChunkRead {
    file: usize,
    offset: u64,
    bytes: u64,
    bytes_needed: u64,
    /// The number of `bytes_needed` that no other chunk needs.
    own_bytes: u64,
    /// The whole pages of the file that no other chunk needs.
    own_pages: Range<u64>,
    /// The memory, once it has arrived.
    lease: Option<Lease>,
}

/// The reads that fill an area with `extents`, back to back, each from a page's start. `read_bytes`
/// returns the maximum size of a file's reads.
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

impl<'a> Filler<'a> {
    /// Reads `chunks`, whose numbers rise, from `files` into `areas`.
    pub(crate) fn new(
        job: &'a SortJob<'a>,
        files: &'a [FileId],
        chunks: impl Iterator<Item = (usize, Vec<Extent>)> + 'a,
        areas: Vec<Lease>,
        reads_are_progress: bool,
    ) -> Self {
        let (completions_to, completions_from) = unbounded();
        let longest = files.iter().map(|file| job.disk.read_bytes(*file)).max();
        // Without files there are no reads, and chunks are complete at once.
        let in_flight_bytes_max = READS_IN_FLIGHT * longest.unwrap_or(1);
        Filler {
            job,
            files,
            chunks: (Box::new(chunks) as NumberedChunks<'a>).peekable(),
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

    /// Hands out chunks in order, each only after all earlier ones have been read.
    pub(crate) fn in_order(self) -> Self {
        Filler { is_in_order: true, ..self }
    }

    /// Returns the areas that are free after all chunks.
    pub(crate) fn into_areas(self) -> Vec<Lease> {
        self.areas
    }

    /// The index of the chunk with the next read, or of a chunk without reads. Begins the next
    /// chunk if needed. `None` if there is no chunk or no area left.
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

    /// Begins the next chunk, if there is one and an area for it. Returns its index.
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

    /// Frees the space of pages that were read from the spool, once there are enough to be worth
    /// it. Ignores pages of other files.
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

    /// Called when all of a chunk is in memory: joins its area's leases.
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

impl Feed for Filler<'_> {
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
        // Reads are started in the order of chunks, so the next chunk is being read or complete.
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
            // From now on areas are reused. The unused ones at the front are for the chunks that
            // stay.
            let unused = self.areas.iter().take(self.job.plan.resident_chunks()).rev();
            self.prefaults.extend(unused.flat_map(|area| area.prefault(0..area.len())));
            self.unused_areas = 0;
        }
        self.areas.extend(area);
    }
}

/// Moves the records of all extents together, after those of the first extent. Returns the offset
/// of the first record.
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
