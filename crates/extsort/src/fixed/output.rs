//! Where sorted records go: the output file, at any byte and from any thread.
//!
//! Direct I/O moves whole pages, but segments of a merge, and bins, begin and end at any byte. Each
//! segment writes the whole pages inside it by itself; the pieces of pages at its two ends go to
//! [`Seams`], which puts the pieces of neighbours together and writes the page when it is full:
//!
//! ```text
//! segment 4 ...aaaaaaaa|aaaaaaaa|aaa         |         |
//! segment 5                     |   bbbbb|bbbbbbbb|bbbbbbbb|bb ...
//! pages     ...  own   |  own   | seam   |  own   |  own   | ...
//! ```

use super::job::Job;
use super::parts::Written;
use crate::Error;
use crate::store::journal::Step;
use crate::store::scratch::write_tag;
use crossbeam_channel::Sender;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use xsort_disk::{
    ALIGNMENT, BlockPool, Completion, Direction, FileId, Lease, Request, align_down, align_up,
};
use xsort_records::Checksum;

/// The output file while it is filled.
pub(crate) struct Output {
    pub(crate) file: FileId,
    /// Its exact length.
    pub(crate) bytes: u64,
    /// Memory for whole pages.
    pub(crate) blocks: Arc<BlockPool>,
    pub(crate) seams: Seams,
}

/// A stretch of the output that is one part of the job.
#[derive(Clone, Copy)]
pub(crate) struct Portion {
    /// The part's number.
    pub(crate) part: usize,
    /// The first byte.
    pub(crate) start: u64,
    pub(crate) records: u64,
}

/// A stretch of the output that was filled.
pub(crate) struct Filled {
    /// Writes that were started.
    pub(crate) writes: usize,
    /// How long it waited for free blocks.
    pub(crate) waited: Duration,
    /// CRC-32 of its bytes, if a journal is kept.
    pub(crate) crc: Option<u32>,
    /// Its bytes in the page in which it ends, if it doesn't end with a page.
    pub(crate) tail: Vec<u8>,
}

/// Pages that are shared by segments.
pub(crate) struct Seams {
    pages: Arc<BlockPool>,
    begun: Mutex<HashMap<u64, (Lease, usize)>>,
}

impl Seams {
    /// Every segment in flight can hold two pages, and every write in flight one.
    pub(crate) fn new(pages: Arc<BlockPool>) -> Seams {
        Seams { pages, begun: Mutex::default() }
    }

    /// Begins with the page in which an output that was written up to `end` ends; `tail` are its
    /// bytes.
    pub(crate) fn begin(&self, end: u64, tail: &[u8]) {
        if tail.is_empty() {
            return;
        }
        let mut page = self.pages.try_take().expect("nobody has taken any yet");
        page.fill(0);
        page[..tail.len()].copy_from_slice(tail);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert(align_down(end), (page, tail.len()));
    }
}

/// Starts a write; how many were started is counted by the caller.
fn write<K>(
    job: &Job<'_, K>,
    file: FileId,
    offset: u64,
    bytes: usize,
    lease: Lease,
    part: usize,
    written: &Sender<Completion>,
) {
    job.submit(Request {
        direction: Direction::Write,
        file,
        offset,
        bytes,
        bytes_needed: bytes,
        lease,
        tag: write_tag(part, 0),
        reply: written.clone(),
    });
}

impl Output {
    /// How much of it an earlier process has written; goes on behind that.
    pub(crate) fn go_on<K>(&self, job: &Job<'_, K>) -> Result<Written, Error> {
        let written: Written = job.notes.replay(Step::Written)?.unwrap_or_default();
        let prefix = &written.prefix;
        self.seams.begin(prefix.bytes, &prefix.tail);
        job.observer.advance(prefix.bytes);
        Ok(written)
    }

    /// Wakes everyone who waits for memory: the job is being given up.
    pub(crate) fn close(&self) {
        self.blocks.close();
        self.seams.pages.close();
    }

    /// Adds a piece of a page (inside one page, not empty) to it; returns how many writes were
    /// started.
    fn add_seam<K>(
        &self,
        job: &Job<'_, K>,
        offset: u64,
        piece: &[u8],
        part: usize,
        written: &Sender<Completion>,
    ) -> Result<usize, Error> {
        if piece.is_empty() {
            return Ok(0);
        }
        let start = align_down(offset);
        let page_bytes = (self.bytes - start).min(ALIGNMENT as u64) as usize;
        // A new page's memory is taken outside the lock, so that a wait for it can't keep a full
        // page from being written.
        let is_begun = |begun: &HashMap<_, _>| begun.contains_key(&start);
        let lock = || self.seams.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = if is_begun(&lock()) {
            None
        } else {
            let mut page = job.stage_times.output_waits_for_write.time(|| self.seams.pages.take());
            if let Some(page) = &mut page {
                page.fill(0);
            }
            Some(page.ok_or(Error::Cancelled)?)
        };
        let mut begun = lock();
        let (page, filled) = begun.entry(start).or_insert_with(|| {
            (fresh.expect("a page is never taken out before it is full, so it is still there"), 0)
        });
        page[(offset - start) as usize..][..piece.len()].copy_from_slice(piece);
        *filled += piece.len();
        if *filled < page_bytes {
            return Ok(0);
        }
        let (page, _) = begun.remove(&start).expect("just used");
        drop(begun);
        write(job, self.file, start, ALIGNMENT, page, part, written);
        Ok(1)
    }

    /// Takes the records of a portion from `source`, which fills what it is given with the next
    /// ones, and writes them, hashing them as they pass.
    pub(crate) fn fill<K>(
        &self,
        job: &Job<'_, K>,
        mut source: impl FnMut(&mut [u8]),
        portion: Portion,
        checksum: &mut Checksum,
        written: &Sender<Completion>,
    ) -> Result<Filled, Error> {
        let Portion { part, start, records } = portion;
        let record_bytes = job.record_bytes;
        let end = start + records * record_bytes as u64;
        let mut left = records as usize;
        let mut crc = job.notes.is_recording().then(crc32fast::Hasher::new);
        let mut take = |out: &mut [u8]| {
            let wanted = left.min(out.len() / record_bytes);
            let bytes = wanted * record_bytes;
            job.stage_times.output_busy.time(|| {
                source(&mut out[..bytes]);
                checksum.add_records(&out[..bytes], record_bytes);
                if let Some(crc) = &mut crc {
                    crc.update(&out[..bytes]);
                }
            });
            left -= wanted;
            bytes
        };

        // The piece of a page before the first whole page, and the rest of the records that reach
        // into it.
        let first_page = align_up(start).min(end);
        let head_bytes = (first_page - start) as usize;
        let mut carry = vec![0; head_bytes.next_multiple_of(record_bytes)];
        take(&mut carry);
        let mut writes = self.add_seam(job, start, &carry[..head_bytes], part, written)?;
        // What ends inside the page in which it began is all tail.
        let is_within = first_page == end && align_down(end) < end;
        let mut tail = if is_within { carry[..head_bytes].to_vec() } else { Vec::new() };
        carry.drain(..head_bytes);

        // Whole blocks. A record that reaches over a block's end is carried to the next.
        let mut waited = Duration::ZERO;
        let mut straddler = vec![0; record_bytes];
        let mut offset = first_page;
        while offset < end {
            let asked_at = Instant::now();
            let mut block = self.blocks.take().ok_or(Error::Cancelled)?;
            waited += asked_at.elapsed();
            let bytes = ((end - offset) as usize).min(block.len());
            let carried = carry.len().min(bytes);
            block[..carried].copy_from_slice(&carry[..carried]);
            carry.drain(..carried);
            let mut filled = carried + take(&mut block[carried..bytes]);
            if filled < bytes {
                take(&mut straddler);
                carry.extend_from_slice(&straddler[bytes - filled..]);
                block[filled..bytes].copy_from_slice(&straddler[..bytes - filled]);
                filled = bytes;
            }
            // Only the segment's last block can end inside a page.
            let whole = align_down(filled as u64) as usize;
            writes +=
                self.add_seam(job, offset + whole as u64, &block[whole..filled], part, written)?;
            tail = block[whole..filled].to_vec();
            if whole > 0 {
                write(job, self.file, offset, whole, block, part, written);
                writes += 1;
            }
            offset += bytes as u64;
            job.observer.advance(bytes as u64);
        }
        job.observer.advance(head_bytes as u64);
        job.stage_times.output_waits_for_write.add(waited);
        Ok(Filled { writes, waited, crc: crc.map(crc32fast::Hasher::finalize), tail })
    }
}
