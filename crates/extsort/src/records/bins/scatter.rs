//! Scattering: a pass that moves each record into the bin of its key.
//!
//! Threads share only the splitters, which are read-only. Each chunk belongs to one thread, which
//! finds the bins of its records and gathers them, bin by bin, into blocks for scratch. The last
//! chunks of the input stay in their areas.

use super::bin::Bin;
use super::load::Loads;
use super::piece::{Piece, PieceWriter};
use super::places::BinPlaces;
use super::slices::{BinSlice, BinnedChunk};
use crate::Error;
use crate::records::chunk_journal::{record_chunk, replay_chunks};
use crate::records::chunks::{Extent, chunks};
use crate::records::filler::{Chunk, Filler, compact};
use crate::records::job::SortJob;
use crate::records::memory::Memory;
use crate::records::pipeline::{Pipeline, WorkedUnit, Worker};
use crate::records::report::ChunkReport;
use crate::records::resident::ResidentChunk;
use crate::records::spill_memory::SpillMemory;
use crate::store::seal::SealedBlock;
use crossbeam_channel::Sender;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{BlockPool, Completion, FileId, Lease, align_up};
use xsort_kernels::Splitters;
use xsort_records::Checksum;

/// The source of a scatter's records.
pub(super) enum ScatterSource<'a> {
    /// The inputs, the size of each, and the places of the bins in the output's file.
    Inputs { files: &'a [FileId], bytes: &'a [u64], places: Option<BinPlaces> },
    /// Loads of a bin that is split, and the number of areas for them.
    Loads { loads: Loads<'a>, areas: usize },
}

/// The result of a scatter.
pub(crate) struct Scattered {
    /// The bins, in the order of their keys.
    pub(super) bins: Vec<Bin>,
    /// Chunks that stayed in memory.
    pub(super) residents: Vec<BinnedChunk>,
    /// Checksum of all records read from the inputs.
    pub(super) checksum: Checksum,
    /// The report of each chunk.
    pub(super) reports: Vec<ChunkReport>,
}

impl Scattered {
    /// The bins' pieces on scratch.
    pub(crate) fn sealed_blocks(&self, record_bytes: usize) -> impl Iterator<Item = SealedBlock> {
        self.bins.iter().flat_map(|bin| &bin.pieces).map(move |piece| piece.sealed(record_bytes))
    }
}

/// A chunk whose records are in their bins.
struct ScatteredChunk {
    pieces: Vec<Piece>,
    resident: Option<BinnedChunk>,
    checksum: Checksum,
    /// `None` if an earlier process has scattered the chunk.
    report: Option<ChunkReport>,
}

/// Scatters the records of `source` into the bins of `splitters`.
pub(super) fn scatter(
    job: &SortJob<'_>,
    source: &ScatterSource<'_>,
    splitters: &Splitters,
    memory: &mut Memory,
) -> Result<Scattered, Error> {
    let plan = job.plan;
    let (files, areas, is_input) = match source {
        ScatterSource::Inputs { files, .. } => (*files, plan.areas, true),
        ScatterSource::Loads { areas, .. } => (job.scratch().files(), *areas, false),
    };
    let mut spill = SpillMemory::take(job, memory, areas);
    let mut chunks = if is_input { replay(job, splitters.bins())? } else { BTreeMap::new() };
    let missing = extents(job, source).enumerate();
    let missing = missing.filter(|(number, _)| !chunks.contains_key(number));
    let mut filler = Filler::new(job, files, missing, std::mem::take(&mut spill.areas), true);
    let blocks = spill.blocks.as_ref();
    let mut sort_buffers = spill.sort_buffers.iter_mut();
    let mut scattered = BTreeMap::new();
    let pipeline = Pipeline {
        idle_timer: &job.stage_times.work_waits_for_read,
        scratch: job.scratch.as_ref(),
        close: &|| blocks.iter().for_each(|blocks| blocks.close()),
    };
    let scatterer = |written| Scatterer {
        job,
        source,
        splitters,
        resident_from: if is_input { plan.spilled_chunks } else { usize::MAX },
        blocks,
        sort_buffer: sort_buffers.next().expect("there is a sort buffer for each thread"),
        written,
    };
    pipeline.run(job, &mut filler, scatterer, &mut |number, chunk: ScatteredChunk| {
        if is_input && chunk.resident.is_none() {
            record_chunk(job, number, &chunk.pieces, chunk.checksum);
        }
        scattered.insert(number, chunk);
    })?;
    spill.areas = filler.into_areas();
    spill.give_back(memory);
    chunks.extend(scattered);
    Ok(collect(splitters, chunks.into_values().collect()))
}

/// The extents of each of a source's chunks.
fn extents<'a>(
    job: &SortJob<'a>,
    source: &'a ScatterSource<'_>,
) -> Box<dyn Iterator<Item = Vec<Extent>> + 'a> {
    let (plan, record_bytes) = (job.plan, job.record_bytes);
    match source {
        ScatterSource::Inputs { bytes, .. } => {
            Box::new(chunks(bytes, plan.chunk_bytes, plan.extents_max))
        }
        ScatterSource::Loads { loads, .. } => {
            Box::new(loads.loads.iter().map(move |load| load.pages(record_bytes)))
        }
    }
}

/// The chunks that an earlier process has scattered into `bins` bins, by number.
fn replay(job: &SortJob<'_>, bins: usize) -> Result<BTreeMap<usize, ScatteredChunk>, Error> {
    let claim = |pieces: &Vec<Piece>| pieces.iter().try_for_each(|piece| piece.claim(job, 0..bins));
    let chunks = replay_chunks(job, claim)?.into_iter().map(|chunk| {
        let (pieces, checksum) = (chunk.blocks, chunk.checksum);
        (chunk.number, ScatteredChunk { pieces, resident: None, checksum, report: None })
    });
    Ok(chunks.collect())
}

/// Collects the pieces and slices of each bin from the chunks, which are in order.
fn collect(splitters: &Splitters, chunks: Vec<ScatteredChunk>) -> Scattered {
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
    for ScatteredChunk { pieces, resident, checksum, report } in chunks {
        pieces.into_iter().for_each(|piece| scattered.bins[piece.bin as usize].pieces.push(piece));
        scattered.residents.extend(resident);
        scattered.checksum.merge(checksum);
        scattered.reports.extend(report);
    }
    for (number, resident) in scattered.residents.iter().enumerate() {
        let mut from = 0;
        for (bin, &to) in scattered.bins.iter_mut().zip(&resident.ends) {
            if from < to {
                bin.slices.push(BinSlice { resident: number, from, to });
                bin.records += (to - from) as u64;
            }
            from = to;
        }
    }
    scattered
}

/// A worker that scatters the records of chunks into bins.
struct Scatterer<'a> {
    job: &'a SortJob<'a>,
    source: &'a ScatterSource<'a>,
    splitters: &'a Splitters,
    /// The first chunk that stays in memory, as do all later ones.
    resident_from: usize,
    /// Blocks to spill through.
    blocks: Option<&'a Arc<BlockPool>>,
    sort_buffer: &'a mut Lease,
    written: Sender<Completion>,
}

impl Worker for Scatterer<'_> {
    type Unit = Chunk;
    type Product = ScatteredChunk;

    fn work(&mut self, chunk: Chunk) -> Result<WorkedUnit<ScatteredChunk>, Error> {
        let mut times = chunk.times();
        let Chunk { number, extents, mut area, .. } = chunk;
        let SortJob { kernels, record_bytes, plan, stage_times, .. } = *self.job;
        let order_bytes = align_up(plan.chunk_bytes / plan.record_bytes * 8) as usize;
        let pages_bytes = area.len() - order_bytes;
        let (mut pages, mut order_lease) = (area.split_off_front(pages_bytes), area);

        let load = || self.load(number, &extents, &mut pages);
        let (first_byte, bytes) = stage_times.load_busy.time(load)?;
        let records = &pages[first_byte..][..bytes];
        let count = bytes / record_bytes;
        let is_input = matches!(self.source, ScatterSource::Inputs { .. });
        let checksum = match is_input {
            true => stage_times.checksum_busy.time(|| self.job.checksum_of(&extents, records)),
            false => Checksum::default(),
        };
        let order: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order_lease)[..count];
        let buffer: &mut [u64] = &mut bytemuck::cast_slice_mut(self.sort_buffer)[..count];
        let mut ends = vec![0; self.splitters.bins()];
        stage_times.scatter_busy.time(|| {
            let splitters = self.splitters;
            kernels.distribute(splitters, records, record_bytes, order, buffer, &mut ends);
        });
        times.sorted();

        let is_resident = number >= self.resident_from;
        let (pieces, writes, resident, area) = if is_resident {
            let chunk =
                ResidentChunk { records: pages, first_byte, count, order: Some(order_lease) };
            (Vec::new(), 0, Some(BinnedChunk { chunk, ends }), None)
        } else {
            let (pieces, writes) = self.spill(number, records, order, &ends)?;
            pages.join(order_lease);
            (pieces, writes, None, Some(pages))
        };
        let report = Some(times.chunk_report(number, count, is_resident, writes));
        if is_input {
            self.job.gauges.counts.chunks.fetch_add(1, Relaxed);
        }
        let product = ScatteredChunk { pieces, resident, checksum, report };
        Ok(WorkedUnit { number, area, writes, product })
    }
}

impl Scatterer<'_> {
    /// Moves the records of a chunk together in `pages`. Returns the offset of the first one, and
    /// their total size in bytes.
    fn load(
        &self,
        number: usize,
        extents: &[Extent],
        pages: &mut [u8],
    ) -> Result<(usize, usize), Error> {
        match self.source {
            ScatterSource::Inputs { .. } => {
                let bytes = extents.iter().map(|extent| extent.bytes as usize).sum();
                Ok((compact(pages, extents), bytes))
            }
            ScatterSource::Loads { loads, .. } => Ok((0, loads.collect(self.job, number, pages)?)),
        }
    }

    /// Writes the records of a chunk to scratch, bin by bin. Returns the pieces, and the number of
    /// writes started.
    fn spill(
        &self,
        number: usize,
        records: &[u8],
        order: &[u64],
        ends: &[usize],
    ) -> Result<(Vec<Piece>, usize), Error> {
        let blocks = self.blocks.expect("a chunk that doesn't stay has scratch");
        let places = match self.source {
            ScatterSource::Inputs { places, .. } => places.as_ref(),
            ScatterSource::Loads { .. } => None,
        };
        let mut writer = PieceWriter::new(self.job, number, blocks, places, &self.written);
        let mut from = 0;
        for (bin, &to) in ends.iter().enumerate() {
            writer.add(bin, records, &order[from..to])?;
            from = to;
        }
        writer.finish()
    }
}
