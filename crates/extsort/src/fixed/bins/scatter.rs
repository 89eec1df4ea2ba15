//! Scattering: a pass that puts every record into the bin of its key.
//!
//! Nothing is shared between threads but the splitters, which nobody writes: a chunk belongs to one
//! thread, which finds the bins of its records and gathers them, bin by bin, into blocks for
//! scratch. The last chunks of the input stay in their areas.

use super::bin::Bin;
use super::load::Source;
use super::piece::{Piece, PieceWriter};
use crate::Error;
use crate::fixed::chunks::{Extent, chunks};
use crate::fixed::fill::Chunk;
use crate::fixed::job::Job;
use crate::fixed::memory::Memory;
use crate::fixed::pass::{Pass, Worked, Worker, pass};
use crate::fixed::recheck::SealedBlock;
use crate::fixed::report::ChunkReport;
use crate::store::journal::Step;
use crossbeam_channel::Sender;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use xsort_disk::{BlockPool, Completion, Lease, align_up};
use xsort_kernels::Splitters;
use xsort_records::{Checksum, Key};

/// What a scatter leaves.
pub(crate) struct Scattered {
    /// In the order of their keys.
    pub(crate) bins: Vec<Bin>,
    /// Chunks that stayed in memory.
    pub(crate) residents: Vec<Resident>,
    /// Of all records read from the inputs.
    pub(crate) checksum: Checksum,
    /// What was done with each chunk.
    pub(crate) reports: Vec<ChunkReport>,
}

impl Scattered {
    /// Its pieces on scratch.
    pub(crate) fn sealed_blocks(&self, record_bytes: usize) -> impl Iterator<Item = SealedBlock> {
        self.bins.iter().flat_map(|bin| &bin.pieces).map(move |piece| SealedBlock {
            place: piece.place,
            bytes: piece.paged_bytes(record_bytes) as usize,
            seal: piece.seal,
        })
    }
}

/// A chunk that stayed in memory.
pub(crate) struct Resident {
    lease: Lease,
    first_byte: usize,
    bytes: usize,
    order: Lease,
    /// Where each bin ends in the order.
    ends: Vec<usize>,
}

impl Resident {
    pub(crate) fn records(&self) -> &[u8] {
        &self.lease[self.first_byte..][..self.bytes]
    }

    /// Which records a slice has.
    pub(crate) fn order(&self, slice: &Slice) -> &[u64] {
        &bytemuck::cast_slice(&self.order)[slice.from..slice.to]
    }
}

/// A bin's share of a chunk that stayed in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    /// Number of the resident chunk.
    pub(crate) resident: usize,
    from: usize,
    to: usize,
}

impl Slice {
    pub(crate) fn records(&self) -> usize {
        self.to - self.from
    }
}

/// A chunk whose records are in their bins.
struct Shared {
    pieces: Vec<Piece>,
    resident: Option<Resident>,
    checksum: Checksum,
    /// None if an earlier process has done it.
    report: Option<ChunkReport>,
}

/// Scatters what `source` has into the bins of `splitters`.
pub(super) fn scatter<K: Key>(
    job: &Job<'_, K>,
    source: &Source<'_>,
    splitters: &Splitters<K>,
    memory: &mut Memory,
) -> Result<Scattered, Error> {
    let plan = job.plan;
    let scratch_files = job.scratch.as_ref().map_or(&[][..], |scratch| scratch.files());
    let (files, areas, is_input) = match source {
        Source::Input { files, .. } => (*files, plan.areas, true),
        Source::Loads { areas, .. } => (scratch_files, *areas, false),
    };
    // Areas first, as `memory` asks.
    let areas = memory.take(areas, plan.area_bytes as usize);
    let mut spares = memory.take(plan.threads, plan.spare_bytes as usize);
    let spill = job.scratch.as_ref().map(|_| {
        let blocks = memory.take(plan.spill_blocks, plan.block_bytes as usize);
        BlockPool::new(blocks, plan.block_bytes as usize)
    });
    let recalled = if is_input { recall(job)? } else { BTreeMap::new() };
    let extents: Box<dyn Iterator<Item = Vec<Extent>>> = match source {
        Source::Input { bytes, .. } => Box::new(chunks(bytes, plan.chunk_bytes, plan.extents_max)),
        Source::Loads { loads, .. } => {
            Box::new(loads.iter().map(|load| load.pages(job.record_bytes)))
        }
    };
    let what = Pass {
        files,
        areas,
        reads_are_progress: true,
        scratch: job.scratch.as_ref(),
        give_up: &|| spill.iter().for_each(|block_pool| block_pool.close()),
    };
    let extents = extents.enumerate().filter(|(number, _)| !recalled.contains_key(number));
    let mut keep = |number: usize, shared: &Shared| {
        if is_input && shared.resident.is_none() && job.notes.is_recording() {
            let checksum = (shared.checksum.records(), shared.checksum.sum());
            job.notes.record(Step::Chunk(number as u64), &(&shared.pieces, checksum));
        }
    };
    let mut spare = spares.iter_mut();
    let passed = pass(job, what, extents, &mut keep, |written| Scatterer {
        job,
        source,
        splitters,
        keeps_from: if is_input { plan.spilled_chunks } else { usize::MAX },
        spill: spill.as_ref(),
        spare: spare.next().expect("the plan has a spare room for each thread"),
        written,
    })?;
    memory.give(passed.areas);
    memory.give(spares);
    memory.give(spill.into_iter().flat_map(BlockPool::dissolve));
    let mut chunks = recalled;
    chunks.extend(passed.made);
    Ok(collect(splitters, chunks.into_values().collect()))
}

/// The chunks of the input that an earlier process has scattered, by number.
fn recall<K: Key>(job: &Job<'_, K>) -> Result<BTreeMap<usize, Shared>, Error> {
    let mut chunks = BTreeMap::new();
    for number in 0..job.plan.spilled_chunks {
        let step = Step::Chunk(number as u64);
        let Some((pieces, checksum)) = job.notes.replay::<(Vec<Piece>, (u64, u128))>(step)? else {
            continue;
        };
        pieces.iter().for_each(|piece| piece.claim(job));
        let checksum = Checksum::from_parts(checksum.0, checksum.1);
        job.observer.advance(checksum.records() * job.record_bytes as u64);
        chunks.insert(number, Shared { pieces, resident: None, checksum, report: None });
    }
    Ok(chunks)
}

/// Puts together what the chunks, in order, have for each bin.
fn collect<K: Key>(splitters: &Splitters<K>, chunks: Vec<Shared>) -> Scattered {
    let mut counts = vec![(0, 0); splitters.bins()];
    for piece in chunks.iter().flat_map(|chunk| &chunk.pieces) {
        counts[piece.bin as usize].0 += 1;
        counts[piece.bin as usize].1 += u64::from(piece.records);
    }
    let bin = |(number, (pieces, records))| Bin {
        number,
        records,
        is_one_key: splitters.is_one_key(number),
        pieces: Vec::with_capacity(pieces),
        slices: Vec::new(),
    };
    let mut scattered = Scattered {
        bins: counts.into_iter().enumerate().map(bin).collect(),
        residents: Vec::new(),
        checksum: Checksum::default(),
        reports: Vec::new(),
    };
    for Shared { pieces, resident, checksum, report } in chunks {
        pieces.into_iter().for_each(|piece| scattered.bins[piece.bin as usize].pieces.push(piece));
        scattered.residents.extend(resident);
        scattered.checksum.merge(checksum);
        scattered.reports.extend(report);
    }
    for (number, resident) in scattered.residents.iter().enumerate() {
        let mut from = 0;
        for (bin, &to) in scattered.bins.iter_mut().zip(&resident.ends) {
            if from < to {
                bin.slices.push(Slice { resident: number, from, to });
                bin.records += (to - from) as u64;
            }
            from = to;
        }
    }
    scattered
}

/// A thread that puts the records of chunks into bins.
struct Scatterer<'a, K> {
    job: &'a Job<'a, K>,
    source: &'a Source<'a>,
    splitters: &'a Splitters<K>,
    /// Chunks from this number on stay in memory.
    keeps_from: usize,
    spill: Option<&'a Arc<BlockPool>>,
    spare: &'a mut Lease,
    written: Sender<Completion>,
}

impl<K: Key> Worker for Scatterer<'_, K> {
    type Made = Shared;

    fn work(&mut self, chunk: Chunk) -> Result<Worked<Shared>, Error> {
        let Chunk { number, extents, mut area, read_time, arrived_at } = chunk;
        let begun_at = Instant::now();
        let Job { record_bytes, plan, stage_times, .. } = *self.job;
        let order_bytes = align_up(plan.chunk_bytes / plan.record_bytes * 8) as usize;
        let pages_bytes = area.len() - order_bytes;
        let (mut lease, mut order_lease) = (area.split_off_front(pages_bytes), area);

        let load = || self.source.collect(self.job, number, &extents, &mut lease);
        let (first_byte, bytes) = stage_times.load_busy.time(load)?;
        let records = &lease[first_byte..][..bytes];
        let count = bytes / record_bytes;
        let checksum = match self.source {
            Source::Input { .. } => {
                stage_times.checksum_busy.time(|| self.job.checksum_of(&extents, records))
            }
            Source::Loads { .. } => Checksum::default(),
        };
        let order: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order_lease)[..count];
        let spare: &mut [u64] = &mut bytemuck::cast_slice_mut(self.spare)[..count];
        let mut ends = vec![0; self.splitters.bins()];
        let distribute =
            || self.splitters.distribute(records, record_bytes, order, spare, &mut ends);
        stage_times.scatter_busy.time(distribute);

        let sorted_at = Instant::now();
        let is_resident = number >= self.keeps_from;
        let (pieces, writes, resident, area) = if is_resident {
            let resident = Resident { lease, first_byte, bytes, order: order_lease, ends };
            (Vec::new(), 0, Some(resident), None)
        } else {
            let block_pool = self.spill.expect("what does not stay has scratch");
            let mut writer = PieceWriter::new(self.job, number, block_pool, &self.written);
            let mut from = 0;
            for (bin, &to) in ends.iter().enumerate() {
                writer.add(bin, records, &order[from..to])?;
                from = to;
            }
            let (pieces, writes) = writer.finish()?;
            lease.join(order_lease);
            (pieces, writes, None, Some(lease))
        };
        let report = ChunkReport {
            chunk: number,
            records: count as u64,
            is_resident,
            writes,
            read_seconds: read_time.as_secs_f64(),
            queue_seconds: (begun_at - arrived_at).as_secs_f64(),
            sort_seconds: (sorted_at - begun_at).as_secs_f64(),
            spill_seconds: sorted_at.elapsed().as_secs_f64(),
        };
        if let Source::Input { .. } = self.source {
            self.job.gauges.counts.chunks.fetch_add(1, Relaxed);
        }
        Ok(Worked {
            area,
            writes,
            made: Shared { pieces, resident, checksum, report: Some(report) },
        })
    }
}
