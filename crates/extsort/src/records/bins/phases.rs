//! The two phases of a sort by bins: scattering the input, and gathering the bins.

use super::bin::Bin;
use super::gather::gather;
use super::in_place::clear_the_way;
use super::limits::Limits;
use super::load::Loads;
use super::places::BinPlaces;
use super::sample::{sample_input, sample_loads};
use super::scatter::{ScatterSource, Scattered, scatter};
use super::slices::BinnedChunk;
use crate::Error;
use crate::records::job::{CompleteOutput, SortJob, SortState};
use crate::records::memory::Memory;
use crate::records::plan::ScatterShape;
use crate::store::journal::Step;
use xsort_kernels::Splitters;

/// Phase one: samples the inputs' keys, and scatters their records into bins.
pub(crate) fn scatter_input(
    job: &SortJob<'_>,
    shape: &ScatterShape,
    state: &mut SortState<'_>,
) -> Result<Scattered, Error> {
    let SortState { io, memory, phases } = state;
    let limits = Limits::of(job.plan, shape);
    phases.begin("sample", 0);
    let bins = limits.bins_at_once(job.plan.bytes);
    let keys = match job.journal.replay::<Vec<u8>>(Step::Sample)? {
        Some(keys) => {
            let key_bytes = job.kernels.key_bytes().max(1);
            let are_whole = keys.len().is_multiple_of(key_bytes);
            if !are_whole || !keys.chunks_exact(key_bytes).is_sorted() {
                return Err(job.journal.refuse(Step::Sample, "it is not of keys in order"));
            }
            keys
        }
        None => {
            let keys = sample_input(job, io, memory, bins)?;
            job.journal.record(Step::Sample, &keys);
            keys
        }
    };
    let splitters = Splitters::from_sample(job.kernels.key_bytes(), &keys, bins);
    let places = job.plan.is_in_place().then(|| BinPlaces::new(job.plan, &splitters.counts(&keys)));
    drop(keys);

    phases.begin("scatter", job.plan.bytes);
    let source = ScatterSource::Inputs { files: io.input_files, bytes: io.input_bytes, places };
    let mut scattered = scatter(job, &source, &splitters, memory)?;
    io.read = scattered.checksum;
    io.chunks = std::mem::take(&mut scattered.reports);
    Ok(scattered)
}

/// Phase two: splits bins until all fit, and gathers them into the output. The output is then
/// complete but not published.
pub(crate) fn gather_bins(
    job: &SortJob<'_>,
    shape: &ScatterShape,
    scattered: Scattered,
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    let SortState { io, memory, phases } = state;
    let limits = Limits::of(job.plan, shape);
    let Scattered { mut bins, residents, .. } = scattered;
    let mut splitter = BinSplitter { job, shape, limits, residents, splits: 0 };
    while bins.iter().any(|bin| splitter.limits.must_split(bin)) {
        let too_large = bins.iter().filter(|bin| splitter.limits.must_split(bin));
        let records: u64 = too_large.map(|bin| bin.records).sum();
        phases.begin("split", records * job.record_bytes as u64);
        let mut finer = Vec::with_capacity(bins.len());
        for bin in bins {
            if splitter.limits.must_split(&bin) {
                finer.extend(splitter.split(bin, memory)?);
            } else {
                finer.push(bin);
            }
        }
        bins = finer;
    }

    job.reclaim()?;
    phases.begin("gather", job.plan.bytes);
    let mut loads = splitter.limits.pack(bins);
    if job.plan.is_in_place() {
        clear_the_way(job, &mut loads, memory)?;
    }
    let loads = Loads { loads: &loads, residents: &splitter.residents };
    let (output, reports) = gather(job, shape, io.output_file, loads, memory)?;
    io.bins = reports;
    Ok(output)
}

/// Splits bins that don't fit in memory.
struct BinSplitter<'a> {
    job: &'a SortJob<'a>,
    shape: &'a ScatterShape,
    limits: Limits,
    residents: Vec<BinnedChunk>,
    /// Number of splits so far.
    splits: u64,
}

impl BinSplitter<'_> {
    /// Scatters one bin into smaller ones.
    fn split(&mut self, bin: Bin, memory: &mut Memory) -> Result<Vec<Bin>, Error> {
        let job = self.job;
        let records = bin.records;
        let bytes = records * job.record_bytes as u64;
        let bins = self.limits.bins_at_once(bytes);
        let loads = self.limits.cut(bin);
        let loads = Loads { loads: &loads, residents: &self.residents };
        let step = Step::IntermediatePass(self.splits);
        self.splits += 1;
        let replay = |finer: &Vec<Bin>| {
            let claimed = finer.iter().try_for_each(|bin| bin.claim(job));
            claimed.map_err(|detail| job.journal.refuse(step, &detail))?;
            job.observer.advance(bytes);
            Ok(())
        };
        let finer = job.journal.replay_or_run(step, &job.failure, replay, || {
            let keys = sample_loads(job, loads, memory, bins)?;
            let splitters = Splitters::from_sample(job.kernels.key_bytes(), &keys, bins);
            drop(keys);
            let source = ScatterSource::Loads { loads, areas: self.shape.gather_areas };
            Ok(scatter(job, &source, &splitters, memory)?.bins)
        })?;
        // The sample's own keys always fall into several bins, or into a bin of a single key.
        if finer.iter().any(|bin| bin.records == records && self.limits.must_split(bin)) {
            let what = format!("{records} records that are said to differ, and can't be split");
            return Err(Error::Lost { what });
        }
        if self.shape.levels == 1 {
            // The plan didn't expect this split, so there may not be space for the bin and its
            // split parts.
            let pieces = loads.loads.iter().flat_map(|load| &load.pieces);
            let blocks = pieces.map(|piece| piece.sealed(job.record_bytes));
            job.scratch().discard(blocks.map(|block| (block.address, block.bytes as u64)))?;
        }
        Ok(finer)
    }
}
