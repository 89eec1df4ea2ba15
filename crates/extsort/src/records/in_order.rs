//! Copying records that are in order already: read once and written once, as a copy of the files
//! would do.
//!
//! ```text
//!  inputs ---> chunk ---> in order? else sorted ---> not before the chunk before? ---> output
//!             (areas)     (a worker a chunk)         (the chain, in the order of chunks)
//! ```
//!
//! A few dozen places of the inputs say whether a copy is worth a try (`look.rs`). The copy checks
//! all records.
//! A chunk that isn't in order is sorted on its way, so records that are a little out of place
//! don't matter. If a chunk has a record that belongs into an earlier chunk, the guess was wrong:
//! the output is dropped, and the sort goes on as planned.

use super::chunks::{SLACK_BYTES, chunk_count, chunks};
use super::filler::{Chunk, Filler, compact};
use super::frontier::WrittenRange;
use super::job::{CompleteOutput, SortJob, SortState};
use super::memory::Memory;
use super::output::{Output, OutputRange};
use super::pipeline::{Pipeline, WorkedUnit, Worker};
use super::plan::{MergeShape, PAGE, Plan, Shape};
use super::report::ChunkReport;
use crate::Error;
use crate::store::output_prefix::OutputPrefix;
use crossbeam_channel::Sender;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{ALIGNMENT, BlockPool, Completion, Lease, align_down, align_up};
use xsort_kernels::{RecordKernels, gather};
use xsort_records::Checksum;

/// Most bytes of records in a chunk.
const CHUNK_BYTES_MAX: u64 = 4 << 20;
/// Least bytes of records in a chunk. Smaller ones aren't worth a thread.
const CHUNK_BYTES_MIN: u64 = 64 << 10;
/// Areas for each thread, and besides: some are read into while others are written.
const AREAS_PER_THREAD: usize = 2;
const MORE_AREAS: usize = 6;
/// Most extents of a chunk.
const EXTENTS_MAX: usize = 16;
/// Most bytes of a block of the output, and of all blocks together.
const BLOCK_BYTES_MAX: u64 = 1 << 20;
const BLOCKS_BYTES_MAX: u64 = 32 << 20;

/// Plans a copy within the budget of `plan`, of inputs of `input_bytes` bytes. `None` if the budget
/// is too small.
pub(super) fn copy_plan(plan: &Plan, input_bytes: &[u64]) -> Option<Plan> {
    let (threads, record_bytes) = (plan.threads, plan.record_bytes);
    let areas = AREAS_PER_THREAD * threads + MORE_AREAS;
    // Half of the budget for areas and the order of records, a quarter for the output.
    let share = plan.budget_bytes / 2 / (areas + threads) as u64;
    let chunk = share.saturating_sub(EXTENTS_MAX as u64 * SLACK_BYTES).min(CHUNK_BYTES_MAX);
    let chunk_bytes = chunk / record_bytes * record_bytes;
    let blocks_bytes = (plan.budget_bytes / 4).min(BLOCKS_BYTES_MAX);
    let block_bytes = align_down(blocks_bytes / (2 * threads as u64 + 2)).min(BLOCK_BYTES_MAX);
    if chunk_bytes < CHUNK_BYTES_MIN || block_bytes < PAGE {
        return None;
    }
    let area_bytes = align_up(chunk_bytes + EXTENTS_MAX as u64 * SLACK_BYTES);
    let sort_buffer_bytes = align_up(2 * 8 * (chunk_bytes / record_bytes));
    let output_blocks = (blocks_bytes / block_bytes) as usize;
    let pool_bytes = areas as u64 * area_bytes
        + threads as u64 * sort_buffer_bytes
        + output_blocks as u64 * block_bytes
        + plan.seam_pages as u64 * PAGE;
    let chunks = chunk_count(input_bytes, chunk_bytes, EXTENTS_MAX) as usize;
    let copy = MergeShape {
        is_arranged: false,
        fan_in_max: 1,
        merge_passes: 1,
        segment_blocks: 1,
        read_blocks: 0,
    };
    let plan = Plan {
        shape: Shape::Merge(copy),
        pool_bytes,
        chunk_bytes,
        extents_max: EXTENTS_MAX,
        chunks,
        spilled_chunks: chunks,
        areas,
        area_bytes,
        sort_buffer_bytes,
        output_block_bytes: block_bytes,
        output_blocks,
        ..plan.clone()
    };
    (plan.pool_bytes <= plan.budget_bytes).then_some(plan)
}

/// Copies the inputs to the output, which is then complete but not published. `job` has the plan of
/// a copy.
///
/// # Errors
/// [`Error::NotInOrder`] if a record of a chunk belongs into an earlier chunk.
pub(super) fn copy_in_order(
    job: &SortJob<'_>,
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    let plan = job.plan;
    let SortState { io, phases, .. } = state;
    phases.begin("copy", plan.bytes);
    let mut memory = Memory::new([Lease::map(plan.pool_bytes as usize)?]);
    let areas = memory.take(plan.areas, plan.area_bytes as usize);
    let mut sort_buffers = memory.take(plan.threads, plan.sort_buffer_bytes as usize);
    let blocks = memory.take(plan.output_blocks, plan.output_block_bytes as usize);
    let seam_pages = memory.take(plan.seam_pages, ALIGNMENT);
    let blocks = BlockPool::new(blocks, plan.output_block_bytes as usize);
    let output = Output::new(io.output_file, plan.bytes, blocks, seam_pages);
    let chain = Chain::default();
    let numbered = chunks(io.input_bytes, plan.chunk_bytes, plan.extents_max).enumerate();
    let mut filler = Filler::new(job, io.input_files, numbered, areas, false).in_order();
    let pipeline = Pipeline {
        idle_timer: &job.stage_times.work_waits_for_read,
        scratch: None,
        close: &|| {
            output.close();
            chain.close();
        },
    };
    let mut sort_buffers = sort_buffers.iter_mut();
    let copier = |written| {
        let sort_buffer = sort_buffers.next().expect("there is a sort buffer for each thread");
        Copier { job, output: &output, chain: &chain, sort_buffer, written }
    };
    let (mut read, mut written, mut reports) = (Checksum::default(), Checksum::default(), vec![]);
    pipeline.run(job, &mut filler, copier, &mut |_, copied: CopiedChunk| {
        read.merge(copied.read);
        written.merge(copied.range.checksum);
        reports.push(copied.report);
    })?;
    reports.sort_unstable_by_key(|report: &ChunkReport| report.chunk);
    io.read = read;
    io.chunks = reports;
    Ok(CompleteOutput { checksum: written, prefix: OutputPrefix::default() })
}

/// A chunk that is in the output.
struct CopiedChunk {
    read: Checksum,
    range: WrittenRange,
    report: ChunkReport,
}

/// A worker that copies chunks.
struct Copier<'a> {
    job: &'a SortJob<'a>,
    output: &'a Output,
    chain: &'a Chain,
    sort_buffer: &'a mut Lease,
    written: Sender<Completion>,
}

impl Worker for Copier<'_> {
    type Unit = Chunk;
    type Product = CopiedChunk;

    fn work(&mut self, chunk: Chunk) -> Result<WorkedUnit<CopiedChunk>, Error> {
        let mut times = chunk.times();
        let Chunk { number, extents, mut area, .. } = chunk;
        let SortJob { kernels, record_bytes, caches, stage_times, .. } = *self.job;
        let bytes: usize = extents.iter().map(|extent| extent.bytes as usize).sum();
        let count = bytes / record_bytes;
        let first_byte = compact(&mut area, &extents);
        let records = &area[first_byte..][..bytes];
        let read = stage_times.checksum_busy.time(|| self.job.checksum_of(&extents, records));
        let words: &mut [u64] = bytemuck::cast_slice_mut(self.sort_buffer);
        let (order, buffer) = words[..2 * count].split_at_mut(count);
        let is_sorted = stage_times.sort_busy.time(|| {
            let is_sorted = kernels.is_sorted(records, record_bytes);
            if !is_sorted {
                kernels.sort(records, record_bytes, order, buffer, caches);
            }
            is_sorted
        });
        let record = |place: usize| {
            let number = if is_sorted { place } else { order[place] as usize };
            &records[number * record_bytes..][..record_bytes]
        };
        let start = self.chain.add(kernels, (number, bytes), record(0), record(count - 1))?;
        times.sorted();
        let mut place = 0;
        let mut fill = |out: &mut [u8]| {
            let filled = out.len() / record_bytes;
            if is_sorted {
                out.copy_from_slice(&records[place * record_bytes..][..out.len()]);
            } else {
                gather(records, record_bytes, &order[place..][..filled], out);
            }
            place += filled;
        };
        let range = OutputRange {
            unit: number,
            start,
            records: count as u64,
            sources: number as u64 + 1,
            has_own_keys: false,
        };
        let filled = self.output.fill(self.job, range, &mut fill, &self.written)?;
        let report = times.chunk_report(number, count, true, filled.writes);
        self.job.gauges.counts.chunks.fetch_add(1, Relaxed);
        let product = CopiedChunk { read, range: filled.range, report };
        Ok(WorkedUnit { number, area: Some(area), writes: filled.writes, product })
    }
}

/// The order of chunks: each must not be before the preceding one.
#[derive(Default)]
struct Chain {
    state: Mutex<ChainState>,
    changed: Condvar,
}

#[derive(Default)]
struct ChainState {
    /// The number of the next chunk, and its offset in the output in bytes.
    next: usize,
    offset: u64,
    /// The normalised key of the last record so far.
    last: Vec<u8>,
    is_closed: bool,
}

impl Chain {
    /// Adds a chunk, given its number and its size in bytes, by its first and last record, after
    /// all chunks before it. Returns its offset in the output. The worker with the preceding chunk
    /// waits for nothing that depends on this thread.
    ///
    /// # Errors
    /// [`Error::NotInOrder`] if the first record is before the last one of the preceding chunk.
    fn add(
        &self,
        kernels: &dyn RecordKernels,
        (number, bytes): (usize, usize),
        first: &[u8],
        last: &[u8],
    ) -> Result<u64, Error> {
        let mut state = self.state.lock();
        while state.next != number && !state.is_closed {
            self.changed.wait(&mut state);
        }
        if state.is_closed {
            return Err(Error::Cancelled);
        }
        if number > 0 && kernels.compare_encoded(first, &state.last).is_lt() {
            return Err(Error::NotInOrder);
        }
        state.last.resize(kernels.key_bytes(), 0);
        kernels.encode(last, &mut state.last);
        state.next += 1;
        let start = state.offset;
        state.offset += bytes as u64;
        self.changed.notify_all();
        Ok(start)
    }

    /// Wakes all waiting threads, because the copy has failed.
    fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}
