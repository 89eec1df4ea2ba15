//! Forming runs: a pass that makes a sorted run of every chunk of the input.
//!
//! The first runs go to scratch, the last ones stay in their areas, as many as the plan says.

use super::block::write_block;
use super::run::{Block, Index, Resident, Run};
use crate::Error;
use crate::fixed::chunks::chunks;
use crate::fixed::fill::{Chunk, compact};
use crate::fixed::job::{Job, SortIo};
use crate::fixed::memory::Memory;
use crate::fixed::pass::{Pass, Worked, Worker, pass};
use crate::fixed::report::ChunkReport;
use crate::store::journal::Step;
use crate::store::scratch::BlockAddress;
use crossbeam_channel::Sender;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use xsort_disk::{BlockPool, Completion, Lease, align_up};
use xsort_kernels::{gather, sort};
use xsort_records::{Checksum, Key};

/// A chunk that is a run now.
struct Sorted {
    run: Run,
    checksum: Checksum,
    report: ChunkReport,
}

/// A run on scratch, as the journal has it.
#[derive(Serialize, Deserialize)]
struct Kept {
    index: Index,
    /// Of the chunk: records, and the sum of their checksums.
    checksum: (u64, u128),
}

/// Reads the inputs, and makes a sorted run of every chunk: in the order of the input. What it has
/// read and done goes to the io. Runs that an earlier process has left are taken over.
pub(super) fn form<K: Key>(
    job: &Job<'_, K>,
    io: &mut SortIo<'_>,
    memory: &mut Memory,
) -> Result<Vec<Run>, Error> {
    let plan = job.plan;
    // Areas first, as `memory` asks.
    let areas = memory.take(plan.areas, plan.area_bytes as usize);
    let mut spares = memory.take(plan.threads, plan.spare_bytes as usize);
    let spill = job.scratch.as_ref().map(|_| {
        let blocks = memory.take(plan.spill_blocks, plan.block_bytes as usize);
        BlockPool::new(blocks, plan.block_bytes as usize)
    });
    let mut runs = recall(job, io)?;
    let chunks = chunks(io.input_bytes, plan.chunk_bytes, plan.extents_max).enumerate();
    let chunks = chunks.filter(|(number, _)| !runs.contains_key(number));
    let mut keep = |number: usize, sorted: &Sorted| {
        if sorted.run.resident.is_none() && job.notes.is_recording() {
            let checksum = (sorted.checksum.records(), sorted.checksum.sum());
            job.notes.record(Step::Chunk(number as u64), &(&sorted.run.index, checksum));
        }
    };
    let what = Pass {
        files: io.input_files,
        areas,
        reads_are_progress: true,
        scratch: job.scratch.as_ref(),
        give_up: &|| spill.iter().for_each(|block_pool| block_pool.close()),
    };
    let mut spare = spares.iter_mut();
    let formed = pass(job, what, chunks, &mut keep, |written| Sorter {
        job,
        spill: spill.as_ref(),
        spare: spare.next().expect("the plan has a spare room for each thread"),
        written,
    })?;
    memory.give(formed.areas);
    memory.give(spares);
    memory.give(spill.into_iter().flat_map(BlockPool::dissolve));
    for (number, Sorted { run, checksum, report }) in formed.made {
        runs.insert(number, run);
        io.read.merge(checksum);
        io.chunks.push(report);
    }
    Ok(runs.into_values().collect())
}

/// The runs of an earlier process, by the number of their chunk.
fn recall<K: Key>(job: &Job<'_, K>, io: &mut SortIo<'_>) -> Result<BTreeMap<usize, Run>, Error> {
    let mut runs = BTreeMap::new();
    for number in 0..job.plan.spilled_chunks {
        let Some(Kept { index, checksum }) = job.notes.replay(Step::Chunk(number as u64))? else {
            continue;
        };
        index.claim(job);
        io.read.merge(Checksum::from_parts(checksum.0, checksum.1));
        job.observer.advance(index.records() * job.record_bytes as u64);
        runs.insert(number, Run { index, resident: None });
    }
    Ok(runs)
}

/// A thread that makes runs of chunks.
struct Sorter<'a, K> {
    job: &'a Job<'a, K>,
    spill: Option<&'a Arc<BlockPool>>,
    spare: &'a mut Lease,
    written: Sender<Completion>,
}

impl<K: Key> Worker for Sorter<'_, K> {
    type Made = Sorted;

    fn work(&mut self, chunk: Chunk) -> Result<Worked<Sorted>, Error> {
        let Chunk { number, extents, mut area, read_time, arrived_at } = chunk;
        let begun_at = Instant::now();
        let Job { key, record_bytes, caches, plan, stage_times, .. } = *self.job;
        let bytes = extents.iter().map(|extent| extent.bytes as usize).sum::<usize>();
        let count = bytes / record_bytes;
        let order_bytes = align_up(count as u64 * 8) as usize;
        let records_bytes = area.len() - order_bytes;
        let mut records_lease = area.split_off_front(records_bytes);
        let mut order_lease = area;
        order_lease.populate(0..count * size_of::<u64>());
        self.spare.populate(0..count * size_of::<u64>());
        let first_byte = compact(&mut records_lease, &extents);
        let records = &records_lease[first_byte..][..bytes];

        let checksum = stage_times.checksum_busy.time(|| self.job.checksum_of(&extents, records));
        let order: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order_lease)[..count];
        let spare: &mut [u64] = &mut bytemuck::cast_slice_mut(self.spare)[..count];
        stage_times.sort_busy.time(|| sort(key, records, record_bytes, order, spare, caches));

        let sorted_at = Instant::now();

        let (index, kept) = match self.spill {
            Some(block_pool) if number < plan.spilled_chunks => {
                let index = self.spill(number, block_pool, records, order)?;
                records_lease.join(order_lease);
                (index, Err(records_lease))
            }
            _ => {
                let index = self.stretches(records, order);
                let resident =
                    Resident { records: records_lease, first_byte, count, order: order_lease };
                (index, Ok(resident))
            }
        };
        let writes = if kept.is_ok() { 0 } else { index.blocks().len() };
        let report = ChunkReport {
            chunk: number,
            records: count as u64,
            is_resident: kept.is_ok(),
            writes,
            read_seconds: read_time.as_secs_f64(),
            queue_seconds: (begun_at - arrived_at).as_secs_f64(),
            sort_seconds: (sorted_at - begun_at).as_secs_f64(),
            spill_seconds: sorted_at.elapsed().as_secs_f64(),
        };
        self.job.gauges.counts.chunks.fetch_add(1, Relaxed);
        let (resident, area) = match kept {
            Ok(resident) => (Some(resident), None),
            Err(area) => (None, Some(area)),
        };
        Ok(Worked { area, writes, made: Sorted { run: Run { index, resident }, checksum, report } })
    }
}

impl<K: Key> Sorter<'_, K> {
    /// Gathers a sorted chunk into blocks and hands them to the drives.
    fn spill(
        &self,
        chunk: usize,
        block_pool: &Arc<BlockPool>,
        records: &[u8],
        order: &[u64],
    ) -> Result<Index, Error> {
        let Job { record_bytes, stage_times, .. } = *self.job;
        let block_records = self.job.block_records();
        let mut index = self.new_index(order);
        for stretch in order.chunks(block_records) {
            let block = stage_times.spill_waits_for_write.time(|| block_pool.take());
            let mut block = block.ok_or(Error::Cancelled)?;
            let bytes = stretch.len() * record_bytes;
            stage_times.spill_busy.time(|| {
                gather(records, record_bytes, stretch, &mut block[..bytes]);
                write_block(self.job, block, stretch.len(), &mut index, chunk, &self.written)
            })?;
        }
        self.set_largest(&mut index, records, order);
        Ok(index)
    }

    /// The index of a run that stays in memory: the same stretches, without places.
    fn stretches(&self, records: &[u8], order: &[u64]) -> Index {
        let Job { key, record_bytes, .. } = *self.job;
        let mut index = self.new_index(order);
        for stretch in order.chunks(self.job.block_records()) {
            let block = Block {
                place: BlockAddress::IN_MEMORY,
                records: stretch.len() as u32,
                checksum: 0,
            };
            let smallest = &records[stretch[0] as usize * record_bytes..][..record_bytes];
            index.push(block, |out| key.encode(smallest, out));
        }
        self.set_largest(&mut index, records, order);
        index
    }

    fn new_index(&self, order: &[u64]) -> Index {
        let blocks = order.len().div_ceil(self.job.block_records());
        Index::with_capacity(self.job.key.bytes(), blocks)
    }

    fn set_largest(&self, index: &mut Index, records: &[u8], order: &[u64]) {
        let Job { key, record_bytes, .. } = *self.job;
        let last = *order.last().expect("a chunk has records") as usize;
        index.set_largest(|out| key.encode(&records[last * record_bytes..][..record_bytes], out));
    }
}
