//! The output file. Threads fill it with sorted records in parallel, each in its own range.

use super::frontier::{OutputProgress, WrittenRange};
use super::job::SortJob;
use super::seams::Seams;
use crate::Error;
use crate::store::journal::Step;
use crate::store::scratch::write_tag;
use crossbeam_channel::Sender;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xsort_disk::{
    ALIGNMENT, BlockPool, Completion, Direction, FileId, Lease, Request, align_down, align_up,
};
use xsort_records::Checksum;

/// The output file while it is being filled.
pub(crate) struct Output {
    file: FileId,
    /// Exact length in bytes.
    bytes: u64,
    /// Blocks for whole pages.
    blocks: Arc<BlockPool>,
    seams: Seams,
    /// The next range to fill, if ranges are filled in order.
    turn: Turn,
}

/// The order in which ranges are filled, if it matters.
#[derive(Default)]
struct Turn {
    state: Mutex<TurnState>,
    changed: Condvar,
}

#[derive(Default)]
struct TurnState {
    next_start: u64,
    is_closed: bool,
}

impl Turn {
    /// Waits until everything before `start` is filled. The worker with the preceding range waits
    /// for nothing that depends on this thread.
    fn wait(&self, start: u64) -> Result<(), Error> {
        let mut state = self.state.lock();
        while state.next_start != start && !state.is_closed {
            self.changed.wait(&mut state);
        }
        if state.is_closed { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn pass_on(&self, end: u64) {
        self.state.lock().next_start = end;
        self.changed.notify_all();
    }

    /// Wakes all waiting threads, because the job has failed.
    fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}

/// A range of the output that is filled as one unit of work.
#[derive(Clone, Copy)]
pub(crate) struct OutputRange {
    /// Number of the unit.
    pub(crate) unit: usize,
    /// Offset of the first byte.
    pub(crate) start: u64,
    pub(crate) records: u64,
    /// Number of sources (blocks of the forecast, or loads of bins) up to the range's end.
    pub(crate) sources: u64,
    /// True if no earlier record has a key in this range.
    pub(crate) has_own_keys: bool,
}

/// A range of the output whose writes were started.
pub(crate) struct FilledRange {
    /// Number of writes.
    pub(crate) writes: usize,
    /// Time that filling waited for free blocks.
    pub(crate) waited: Duration,
    /// The range. It is written once all writes have completed.
    pub(crate) range: WrittenRange,
}

impl Output {
    /// An output of `bytes` bytes, written through `blocks`, and through `seam_pages` where ranges
    /// meet.
    pub(crate) fn new(
        file: FileId,
        bytes: u64,
        blocks: Arc<BlockPool>,
        seam_pages: Vec<Lease>,
    ) -> Output {
        let seams = Seams::new(BlockPool::new(seam_pages, ALIGNMENT));
        Output { file, bytes, blocks, seams, turn: Turn::default() }
    }

    /// Returns the part that an earlier process has written, and continues after it.
    pub(crate) fn resume(&self, job: &SortJob<'_>) -> Result<OutputProgress, Error> {
        let progress: OutputProgress = job.journal.replay(Step::Written)?.unwrap_or_default();
        let prefix = &progress.prefix;
        self.seams.begin(prefix.bytes, &prefix.tail);
        job.observer.advance(prefix.bytes);
        Ok(progress)
    }

    /// Wakes all threads that wait for memory, because the job has failed.
    pub(crate) fn close(&self) {
        self.blocks.close();
        self.seams.close();
        self.turn.close();
    }

    /// Fills a range with the records of `source`, and starts its writes. `source` fills the buffer
    /// that it is given with the next records. Records are hashed as they pass.
    pub(crate) fn fill(
        &self,
        job: &SortJob<'_>,
        range: OutputRange,
        source: &mut dyn FnMut(&mut [u8]),
        written: &Sender<Completion>,
    ) -> Result<FilledRange, Error> {
        let end = range.start + range.records * job.record_bytes as u64;
        let records = HashedRecords {
            source,
            left: range.records as usize,
            job,
            checksum: Checksum::default(),
            crc: job.journal.is_recording().then(crc32fast::Hasher::new),
            ends: None,
        };
        let mut filler = RangeFiller {
            output: self,
            job,
            unit: range.unit,
            written,
            records,
            carry: Vec::new(),
            straddler: vec![0; job.record_bytes],
            tail: Vec::new(),
            writes: 0,
            waited: Duration::ZERO,
        };
        if job.writes_in_order {
            job.stage_times.output_waits_for_write.time(|| self.turn.wait(range.start))?;
        }
        let first_page = filler.fill_head(range.start, end)?;
        let mut offset = first_page;
        while offset < end {
            offset += filler.fill_block(offset, end)?;
        }
        if job.writes_in_order {
            self.turn.pass_on(end);
        }
        job.observer.advance(first_page - range.start);
        let HashedRecords { checksum, crc, ends, .. } = filler.records;
        let crc = crc.map(crc32fast::Hasher::finalize);
        let OutputRange { sources, has_own_keys, .. } = range;
        let range = WrittenRange { sources, checksum, crc, tail: filler.tail, ends, has_own_keys };
        Ok(FilledRange { writes: filler.writes, waited: filler.waited, range })
    }
}

/// Records on their way into the output.
struct HashedRecords<'a> {
    source: &'a mut dyn FnMut(&mut [u8]),
    /// Number of remaining records.
    left: usize,
    job: &'a SortJob<'a>,
    checksum: Checksum,
    /// CRC-32 of the bytes, if the sort has a journal.
    crc: Option<crc32fast::Hasher>,
    /// The normalised keys of the first and last record so far.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

impl HashedRecords<'_> {
    /// Fills `out` with as many whole records as are left and fit. Returns their size in bytes.
    fn take(&mut self, out: &mut [u8]) -> usize {
        let record_bytes = self.job.record_bytes;
        let count = self.left.min(out.len() / record_bytes);
        let out = &mut out[..count * record_bytes];
        self.job.stage_times.output_busy.time(|| {
            (self.source)(out);
            self.checksum.add_records(out, record_bytes);
            if let Some(crc) = &mut self.crc {
                crc.update(out);
            }
        });
        if let (Some(first), Some(last)) =
            (out.get(..record_bytes), out.rchunks(record_bytes).next())
        {
            let kernels = self.job.kernels;
            let (_, end) = self.ends.get_or_insert_with(|| {
                let mut begin = vec![0; kernels.key_bytes()];
                kernels.encode(first, &mut begin);
                (begin.clone(), begin)
            });
            kernels.encode(last, end);
        }
        self.left -= count;
        out.len()
    }
}

/// Cuts the records of a range into pages and writes them.
struct RangeFiller<'a> {
    output: &'a Output,
    job: &'a SortJob<'a>,
    unit: usize,
    written: &'a Sender<Completion>,
    records: HashedRecords<'a>,
    /// The end of a record that crosses the end of the last page or block.
    carry: Vec<u8>,
    /// Buffer for such a record.
    straddler: Vec<u8>,
    /// The range's bytes in its last page, if it ends inside a page.
    tail: Vec<u8>,
    writes: usize,
    waited: Duration,
}

impl RangeFiller<'_> {
    /// Fills the fragment before the range's first whole page. Returns the offset of that page.
    fn fill_head(&mut self, start: u64, end: u64) -> Result<u64, Error> {
        let first_page = align_up(start).min(end);
        let head_bytes = (first_page - start) as usize;
        let mut head = vec![0; head_bytes.next_multiple_of(self.job.record_bytes)];
        self.records.take(&mut head);
        self.carry = head.split_off(head_bytes);
        self.add_seam(start, &head)?;
        if first_page == end && align_down(end) < end {
            // The range ends inside its first page.
            self.tail = head;
        }
        Ok(first_page)
    }

    /// Fills a block from `offset` on. Returns its size in bytes.
    fn fill_block(&mut self, offset: u64, end: u64) -> Result<u64, Error> {
        let waited_since = Instant::now();
        let block = self.output.blocks.take();
        self.waited += waited_since.elapsed();
        self.job.stage_times.output_waits_for_write.add_since(waited_since);
        let mut block = block.ok_or(Error::Cancelled)?;
        let bytes = ((end - offset) as usize).min(block.len());
        let carried = self.carry.len().min(bytes);
        block[..carried].copy_from_slice(&self.carry[..carried]);
        self.carry.drain(..carried);
        let filled = carried + self.records.take(&mut block[carried..bytes]);
        if filled < bytes {
            self.records.take(&mut self.straddler);
            let (first, rest) = self.straddler.split_at(bytes - filled);
            block[filled..bytes].copy_from_slice(first);
            self.carry.extend_from_slice(rest);
        }
        // Only the range's last block can end inside a page.
        let whole = align_down(bytes as u64) as usize;
        self.tail = block[whole..bytes].to_vec();
        if whole > 0 {
            self.write(offset, whole, block);
        }
        let tail = std::mem::take(&mut self.tail);
        self.add_seam(offset + whole as u64, &tail)?;
        self.tail = tail;
        self.job.observer.advance(bytes as u64);
        Ok(bytes as u64)
    }

    /// Adds a fragment, which may be empty, to its page. Writes the page if it is complete.
    fn add_seam(&mut self, offset: u64, fragment: &[u8]) -> Result<(), Error> {
        if fragment.is_empty() {
            return Ok(());
        }
        let wait_timer = &self.job.stage_times.output_waits_for_write;
        let seams = &self.output.seams;
        if let Some((start, page)) = seams.add(offset, fragment, self.output.bytes, wait_timer)? {
            self.write(start, ALIGNMENT, page);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: usize, lease: Lease) {
        self.writes += 1;
        self.job.submit(Request {
            direction: Direction::Write,
            file: self.output.file,
            offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: write_tag(self.unit, 0),
            reply: self.written.clone(),
        });
    }
}
