//! Phase one: form a sorted run of every chunk of the input.
//!
//! The first runs are spilled. The last ones stay in their areas; the plan says how many. If all
//! stay, the records of each are moved into order.

use super::run::{Index, Place, Run};
use super::spill::{BlockTimes, BlockWriter};
use crate::Error;
use crate::records::chunk_journal::{record_chunk, replay_chunks};
use crate::records::chunks::{Extent, chunks};
use crate::records::filler::{Chunk, Filler, compact};
use crate::records::job::{SortJob, SortState};
use crate::records::pipeline::{Pipeline, WorkedUnit, Worker};
use crate::records::plan::Shape;
use crate::records::report::ChunkReport;
use crate::records::resident::ResidentChunk;
use crate::records::spill_memory::SpillMemory;
use crossbeam_channel::Sender;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{BlockPool, Completion, Lease, align_up};
use xsort_kernels::gather;
use xsort_records::Checksum;

/// Reads the inputs, and forms a sorted run of each chunk. Takes over the runs that an earlier
/// process has left. Returns all runs, in the order of the input. Adds checksums and reports to
/// `state`.
pub(crate) fn form_runs(job: &SortJob<'_>, state: &mut SortState<'_>) -> Result<Vec<Run>, Error> {
    let plan = job.plan;
    let SortState { io, memory, phases } = state;
    phases.begin("form runs", plan.bytes);
    let mut spill = SpillMemory::take(job, memory, plan.areas);
    let mut runs = BTreeMap::new();
    for chunk in replay_chunks(job, |index: &Index| index.claim(job))? {
        io.read.merge(chunk.checksum);
        runs.insert(chunk.number, Run::spilled(chunk.blocks));
    }
    let chunks = chunks(io.input_bytes, plan.chunk_bytes, plan.extents_max).enumerate();
    let missing = chunks.filter(|(number, _)| !runs.contains_key(number));
    let mut areas = std::mem::take(&mut spill.areas);
    let is_arranged = matches!(&plan.shape, Shape::Merge(shape) if shape.is_arranged);
    let mut spares = areas.split_off(areas.len() - if is_arranged { plan.threads } else { 0 });
    let mut filler = Filler::new(job, io.input_files, missing, areas, true);
    let mut formed = BTreeMap::new();
    let blocks = spill.blocks.as_ref();
    let mut sort_buffers = spill.sort_buffers.iter_mut();
    let mut spare_areas = spares.iter_mut();
    let pipeline = Pipeline {
        idle_timer: &job.stage_times.work_waits_for_read,
        scratch: job.scratch.as_ref(),
        close: &|| blocks.iter().for_each(|blocks| blocks.close()),
    };
    let sorter = |written| Sorter {
        job,
        blocks,
        sort_buffer: sort_buffers.next().expect("there is a sort buffer for each thread"),
        spare: spare_areas.next(),
        written,
    };
    pipeline.run(job, &mut filler, sorter, &mut |number, sorted: SortedChunk| {
        if sorted.run.resident().is_none() {
            record_chunk(job, number, &sorted.run.index, sorted.checksum);
        }
        io.read.merge(sorted.checksum);
        formed.insert(number, (sorted.run, sorted.report));
    })?;
    spill.areas = filler.into_areas();
    spill.areas.extend(spares);
    spill.give_back(memory);
    for (number, (run, report)) in formed {
        runs.insert(number, run);
        io.chunks.push(report);
    }
    Ok(runs.into_values().collect())
}

/// A chunk that has become a run.
struct SortedChunk {
    run: Run,
    checksum: Checksum,
    report: ChunkReport,
}

/// A worker that forms runs of chunks.
struct Sorter<'a> {
    job: &'a SortJob<'a>,
    /// Blocks to spill through.
    blocks: Option<&'a Arc<BlockPool>>,
    sort_buffer: &'a mut Lease,
    /// An area to move records into, if all chunks stay in memory.
    spare: Option<&'a mut Lease>,
    written: Sender<Completion>,
}

impl Worker for Sorter<'_> {
    type Unit = Chunk;
    type Product = SortedChunk;

    fn work(&mut self, chunk: Chunk) -> Result<WorkedUnit<SortedChunk>, Error> {
        if self.spare.is_some() {
            return Ok(self.arrange(chunk));
        }
        let mut times = chunk.times();
        let Chunk { number, extents, area, .. } = chunk;
        let SortJob { record_bytes, plan, .. } = *self.job;
        let bytes = bytes_of(&extents);
        let count = bytes / record_bytes;
        let (mut records_lease, mut order_lease) = self.split_area(area, count);
        let first_byte = compact(&mut records_lease, &extents);
        let records = &records_lease[first_byte..][..bytes];
        let order: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order_lease)[..count];
        let buffer: &mut [u64] = &mut bytemuck::cast_slice_mut(self.sort_buffer)[..count];
        let checksum = sort_chunk(self.job, &extents, records, order, buffer);
        times.sorted();

        let spill_blocks = self.blocks.filter(|_| number < plan.spilled_chunks);
        let (run, writes, area) = if let Some(blocks) = spill_blocks {
            let (index, writes) = self.spill(number, blocks, records, order)?;
            records_lease.join(order_lease);
            (Run::spilled(index), writes, Some(records_lease))
        } else {
            let records_of = |place: usize| &records[order[place] as usize * record_bytes..];
            let index = Index::of_resident(self.job, count, records_of);
            let (records, order) = (records_lease, Some(order_lease));
            let resident = ResidentChunk { records, first_byte, count, order };
            (Run { index, place: Place::Memory(resident) }, 0, None)
        };
        let report = times.chunk_report(number, count, run.resident().is_some(), writes);
        self.job.gauges.counts.chunks.fetch_add(1, Relaxed);
        Ok(WorkedUnit { number, area, writes, product: SortedChunk { run, checksum, report } })
    }
}

/// Size of a chunk's records in bytes.
fn bytes_of(extents: &[Extent]) -> usize {
    extents.iter().map(|extent| extent.bytes as usize).sum()
}

/// Computes the order of a chunk's records. Returns their checksum.
fn sort_chunk(
    job: &SortJob<'_>,
    extents: &[Extent],
    records: &[u8],
    order: &mut [u64],
    buffer: &mut [u64],
) -> Checksum {
    let SortJob { kernels, record_bytes, caches, stage_times, .. } = *job;
    let checksum = stage_times.checksum_busy.time(|| job.checksum_of(extents, records));
    let sort = || kernels.sort(records, record_bytes, order, buffer, caches);
    stage_times.sort_busy.time(sort);
    checksum
}

impl Sorter<'_> {
    /// Forms a run of a chunk that stays in memory. Moves its records into order in the spare area,
    /// and keeps the chunk's own area as the next spare one. Records that are already in order stay
    /// where they are.
    fn arrange(&mut self, chunk: Chunk) -> WorkedUnit<SortedChunk> {
        let mut times = chunk.times();
        let Chunk { number, extents, mut area, .. } = chunk;
        let SortJob { record_bytes, stage_times, .. } = *self.job;
        let bytes = bytes_of(&extents);
        let count = bytes / record_bytes;
        self.sort_buffer.populate(0..self.sort_buffer.len());
        let words: &mut [u64] = bytemuck::cast_slice_mut(self.sort_buffer);
        let (order, buffer) = words.split_at_mut(count);
        let mut first_byte = compact(&mut area, &extents);
        let records = &area[first_byte..][..bytes];
        let checksum = sort_chunk(self.job, &extents, records, order, &mut buffer[..count]);
        let is_in_order = (0..).zip(&*order).all(|(place, &index)| index == place);
        if !is_in_order && let Some(spare) = &mut self.spare {
            spare.populate(0..bytes);
            stage_times
                .sort_busy
                .time(|| gather(records, record_bytes, order, &mut spare[..bytes]));
            std::mem::swap(&mut area, *spare);
            first_byte = 0;
        }
        times.sorted();
        let records = &area[first_byte..][..bytes];
        let index = Index::of_resident(self.job, count, |place| &records[place * record_bytes..]);
        let report = times.chunk_report(number, count, true, 0);
        self.job.gauges.counts.chunks.fetch_add(1, Relaxed);
        let resident = ResidentChunk { records: area, first_byte, count, order: None };
        let run = Run { index, place: Place::Memory(resident) };
        let product = SortedChunk { run, checksum, report };
        WorkedUnit { number, area: None, writes: 0, product }
    }

    /// Splits an area into memory for records and memory for the order of `count` records.
    fn split_area(&mut self, mut area: Lease, count: usize) -> (Lease, Lease) {
        let order_bytes = align_up(count as u64 * 8) as usize;
        let records_bytes = area.len() - order_bytes;
        let records = area.split_off_front(records_bytes);
        let order = area;
        order.populate(0..count * size_of::<u64>());
        self.sort_buffer.populate(0..count * size_of::<u64>());
        (records, order)
    }

    /// Gathers a sorted chunk into blocks, and starts their writes. Returns the index and the
    /// number of writes.
    fn spill(
        &self,
        number: usize,
        blocks: &Arc<BlockPool>,
        records: &[u8],
        order: &[u64],
    ) -> Result<(Index, usize), Error> {
        let SortJob { kernels, record_bytes, stage_times, .. } = *self.job;
        let (busy, waits_for_write) = (&stage_times.spill_busy, &stage_times.spill_waits_for_write);
        let times = BlockTimes { busy, waits_for_write };
        let written = &self.written;
        let mut writer = BlockWriter::new(self.job, blocks, number, order.len(), written, times);
        for order in order.chunks(self.job.block_records()) {
            let gathered = &mut writer.block()?[..order.len() * record_bytes];
            busy.time(|| gather(records, record_bytes, order, gathered));
            writer.finish_block(order.len())?;
        }
        let last = *order.last().expect("a chunk has records") as usize;
        let last = &records[last * record_bytes..][..record_bytes];
        writer.index.set_largest(|out| kernels.encode(last, out));
        writer.finish()
    }
}
