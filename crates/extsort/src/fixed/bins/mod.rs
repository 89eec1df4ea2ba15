//! Scatter and gather: every record goes to the bin of its key on scratch, then each bin is sorted
//! by itself.
//!
//! The outline: sample the keys, scatter the input into bins, split the bins that don't fit in
//! memory until all do, gather bin after bin into the output.
//!
//! ```text
//! input  -- chunks --> | bin | bin | bin | ...      pieces on scratch; the last chunks stay in memory
//!                         |     |     `-- too large: the same again, with splitters of its own
//!                         v     v
//!                      load, sort, write            one bin a thread, several at once, in the order of the output
//! ```
//!
//! Rustbucket's way (A. Asleson), with the splitters of a samplesort instead of key prefixes. A key
//! so frequent that it fills a bin has one to itself, which needs no sort and may have any size; so
//! neither skew nor equal keys can exceed the budget. Pieces keep the order of the chunks and
//! records that of their chunk, so the sort is stable.

mod bin;
mod gather;
mod load;
mod piece;
mod plan;
mod sample;
mod scatter;

pub use plan::ScatterShape;
pub(crate) use plan::within;

use super::job::{Job, SortIo, Sorted};
use super::memory::Memory;
use super::phases::Phases;
use crate::Error;
use crate::store::journal::Step;
use bin::{Bin, Limits};
use gather::gather;
use load::{Load, Source};
use sample::{sample_input, sample_loads};
pub(crate) use scatter::Scattered;
use scatter::scatter;
use xsort_kernels::Splitters;
use xsort_records::Key;

/// Phase one: samples the inputs' keys, and scatters their records into bins.
pub(crate) fn scatter_input<K: Key>(
    job: &Job<'_, K>,
    shape: &ScatterShape,
    io: &mut SortIo<'_>,
    memory: &mut Memory,
    phases: &mut Phases<'_>,
) -> Result<Scattered, Error> {
    let limits = Limits::of(job.plan, shape);
    phases.begin("sample", 0);
    let bins = limits.bins_at_once(job.plan.bytes);
    let keys = match job.notes.replay(Step::Sample)? {
        Some(keys) => keys,
        None => {
            let keys = sample_input(job, io, memory, bins)?;
            job.notes.record(Step::Sample, &keys);
            keys
        }
    };
    let splitters = Splitters::from_sample(job.key, &keys, bins);
    drop(keys);

    phases.begin("scatter", job.plan.bytes);
    let source = Source::Input { files: io.input_files, bytes: io.input_bytes };
    let mut scattered = scatter(job, &source, &splitters, memory)?;
    io.read = scattered.checksum;
    io.chunks = std::mem::take(&mut scattered.reports);
    Ok(scattered)
}

/// Phase two: splits bins until all fit, and gathers them into the output, which is then complete
/// but not in place.
pub(crate) fn gather_bins<K: Key>(
    job: &Job<'_, K>,
    shape: &ScatterShape,
    scattered: Scattered,
    io: &mut SortIo<'_>,
    memory: &mut Memory,
    phases: &mut Phases<'_>,
) -> Result<Sorted, Error> {
    let limits = Limits::of(job.plan, shape);
    let Scattered { mut bins, residents, .. } = scattered;
    let mut splits = 0;
    while bins.iter().any(|bin| limits.must_split(bin)) {
        let bytes: u64 =
            bins.iter().filter(|bin| limits.must_split(bin)).map(|bin| bin.records).sum();
        phases.begin("split", bytes * job.record_bytes as u64);
        let mut finer = Vec::with_capacity(bins.len());
        for bin in bins {
            if limits.must_split(&bin) {
                finer.extend(split(job, shape, &limits, bin, &mut splits, &residents, memory)?);
            } else {
                finer.push(bin);
            }
        }
        bins = finer;
    }

    job.reclaim()?;
    phases.begin("gather", job.plan.bytes);
    let loads = limits.pack(bins);
    let (sorted, reports) = gather(job, shape, io.output_file, &loads, &residents, memory)?;
    io.bins = reports;
    Ok(sorted)
}

/// Scatters one bin into smaller ones.
fn split<K: Key>(
    job: &Job<'_, K>,
    shape: &ScatterShape,
    limits: &Limits,
    bin: Bin,
    splits: &mut u64,
    residents: &[scatter::Resident],
    memory: &mut Memory,
) -> Result<Vec<Bin>, Error> {
    let bins = limits.bins_at_once(bin.records * job.record_bytes as u64);
    let bytes = bin.records * job.record_bytes as u64;
    let loads = limits.parts(bin);
    let step = Step::IntermediatePass(*splits);
    *splits += 1;
    let finer = match job.notes.replay::<Vec<Bin>>(step)? {
        Some(finer) => {
            finer.iter().flat_map(|bin| &bin.pieces).for_each(|piece| piece.claim(job));
            job.observer.advance(bytes);
            finer
        }
        None => {
            let keys = sample_loads(job, &loads, residents, memory, bins)?;
            let splitters = Splitters::from_sample(job.key, &keys, bins);
            drop(keys);
            let source = Source::Loads { loads: &loads, residents, areas: shape.gather_areas };
            let finer = scatter(job, &source, &splitters, memory)?.bins;
            job.notes.record(step, &finer);
            // Before what they were made of goes.
            job.notes.flush(&job.failure)?;
            finer
        }
    };
    if shape.levels == 1 {
        // Not foreseen, so there may be no space for both.
        let pieces = loads.iter().flat_map(|load: &Load| &load.pieces);
        job.scratch()
            .discard(pieces.map(|piece| (piece.place, piece.paged_bytes(job.record_bytes))))?;
    }
    Ok(finer)
}
