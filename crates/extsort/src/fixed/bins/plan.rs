//! How scatter and gather divide the budget.
//!
//! ```text
//! scatter  | area | area | ... all of them read into ...        | spare/thread | spill blocks |
//! split    | chunks that stay | areas to load bins into         | spare/thread | spill blocks |
//! gather   | chunks that stay | areas to load bins into         | spare/thread | output blocks | seam pages |
//! always   | index of pieces, and the sample (on the heap, but taken from the budget) |
//! ```
//!
//! A bin is loaded into an area as large as a chunk's. A small area leaves more chunks in memory, a
//! large one makes fewer bins and so larger pieces. The planner takes the smallest one whose pieces
//! are still large enough for a drive, and only if the budget has none of that kind, bins of bins.

use crate::fixed::chunks::{EXTENTS_MAX, SLACK_BYTES, chunk_count};
use crate::fixed::plan::{
    BLOCK_BYTES_MAX, CHUNK_BYTES_MIN, FLIGHT_BYTES, Facts, KIB, MIB, PAGE, Plan, Shape,
};
use serde::{Deserialize, Serialize};
use xsort_disk::align_up;

/// Pieces that are worth a transfer of their own.
pub(super) const PIECE_BYTES_EASY: u64 = 256 * KIB;
/// Pieces below this make reading a bin slower than another level does.
const PIECE_BYTES_MIN: u64 = 64 * KIB;
/// Bins are made to fill so much of an area, in percent: with the samples below, one in ten
/// thousand comes out larger than its area.
const FILL_PERCENT: u64 = 75;
/// Sampled keys for each bin: its size is then within 6% (one standard deviation) of what was
/// wanted.
const SAMPLES_PER_BIN: u64 = 256;
/// Heap bytes of a piece in the index, while that is put together.
const PIECE_ENTRY_BYTES: u64 = 80;
/// Heap bytes of a sampled key beside the key, which is there twice.
const SAMPLE_ENTRY_BYTES: u64 = 24;
/// Least bins that a scatter can make, so that it always gets somewhere.
const FAN_OUT_MIN: usize = 8;
/// Least records of a chunk, for the same reason.
const CHUNK_RECORDS_MIN: u64 = 8;
/// Levels beyond which there is no sense in it.
const LEVELS_MAX: u64 = 8;

/// What only scatter and gather has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScatterShape {
    /// Bins that are aimed at, after the last level.
    pub bins: usize,
    /// Record bytes of a bin that are aimed at.
    pub bin_bytes: u64,
    /// Scatters that a record goes through, if the keys are as the sample says.
    pub levels: usize,
    /// Areas to load bins into.
    pub gather_areas: usize,
}

/// Into how many bins chunks of such a size can be scattered at once.
pub(super) fn fan_out(chunk_bytes: u64) -> usize {
    ((chunk_bytes / PIECE_BYTES_MIN) as usize).clamp(FAN_OUT_MIN, 1 << 16)
}

/// How many scatters into at most `fan_out` bins make so many.
pub(super) fn levels(bins: u64, fan_out: u64) -> u32 {
    (1..).find(|&levels| fan_out.saturating_pow(levels) >= bins).expect("a fan-out is two or more")
}

/// Into how many bins each of so many scatters goes that together make `bins`: the root, rounded
/// up. In whole numbers, since the C library's powers would be the one thing that has its
/// mathematics loaded at every start.
pub(super) fn root(bins: u64, levels: u32) -> u64 {
    let (mut low, mut high) = (1, bins.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if middle.saturating_pow(levels) >= bins { high = middle } else { low = middle + 1 }
    }
    low
}

/// How many keys to sample for so many bins.
pub(super) fn sample_keys(plan: &Plan, bins: usize) -> u64 {
    samples(bins as u64, plan.key_bytes, plan.budget_bytes).min(plan.records)
}

fn samples(bins: u64, key_bytes: u64, budget_bytes: u64) -> u64 {
    let affordable = budget_bytes / 64 / (2 * key_bytes + SAMPLE_ENTRY_BYTES);
    (bins * SAMPLES_PER_BIN).min(affordable).max(16)
}

/// The best plan within the budget, if there is any.
pub(crate) fn within(facts: &Facts) -> Option<Plan> {
    let threads = std::iter::successors(Some(facts.threads.max(1)), |&t| (t > 1).then_some(t / 2));
    threads.filter_map(|threads| Candidate::new(facts, threads as u64)?.plan()).next()
}

/// A number of threads, and what follows from it alone.
struct Candidate<'a> {
    facts: &'a Facts,
    threads: u64,
    bytes: u64,
    block_bytes: u64,
    spill_blocks: u64,
    output_block_bytes: u64,
    output_blocks: u64,
    extents_max: u64,
}

impl Candidate<'_> {
    fn new(facts: &Facts, threads: u64) -> Option<Candidate<'_>> {
        let budget = facts.budget_bytes;
        let least = align_up(facts.record_bytes).next_power_of_two();
        let part = (budget / 64).max(PAGE);
        let block_bytes = (1 << part.ilog2()).min(BLOCK_BYTES_MAX).max(least);
        let flight =
            (FLIGHT_BYTES / block_bytes).clamp(2, 32).min((budget / 16 / block_bytes).max(2));
        let inputs = facts.input_bytes.iter().filter(|&&bytes| bytes > 0).count();
        Some(Candidate {
            facts,
            threads,
            bytes: facts.input_bytes.iter().sum(),
            block_bytes,
            spill_blocks: threads + flight,
            output_block_bytes: (1 << part.ilog2()).min(BLOCK_BYTES_MAX),
            output_blocks: threads
                + flight.max((FLIGHT_BYTES / MIB).min((budget / 32 / part).max(2))),
            extents_max: if budget / (threads + 4) > 4 * MIB {
                inputs.clamp(1, EXTENTS_MAX)
            } else {
                1
            } as u64,
        })
    }

    fn seam_pages(&self) -> u64 {
        2 * (self.threads + 2) + 8
    }

    fn gather_areas(&self) -> u64 {
        self.threads + if self.threads == 1 { 1 } else { 2 }
    }

    /// Bytes of an area for chunks of so many records.
    fn area_bytes(&self, chunk_records: u64) -> u64 {
        align_up(chunk_records * self.facts.record_bytes)
            + self.extents_max * SLACK_BYTES
            + align_up(chunk_records * 8)
    }

    /// Bytes that blocks take, of whichever phase needs more.
    fn blocks_bytes(&self) -> u64 {
        let output = self.output_blocks * self.output_block_bytes + self.seam_pages() * PAGE;
        output.max(self.spill_blocks * self.block_bytes)
    }

    /// The plan with the smallest chunks that make good pieces, or else with the largest that fit.
    fn plan(&self) -> Option<Plan> {
        let Facts { record_bytes, .. } = *self.facts;
        let records = self.bytes / record_bytes;
        let even = records.div_ceil(4 * self.threads).max(CHUNK_BYTES_MIN.div_ceil(record_bytes));
        // A piece is a chunk's share of a bin, and a bin is about a chunk: chunk^2 / bytes.
        let easy =
            ((self.bytes as f64) * (PIECE_BYTES_EASY * 100 / FILL_PERCENT) as f64).sqrt() as u64;
        let easy = (easy / record_bytes).max(CHUNK_BYTES_MIN.div_ceil(record_bytes)).min(even);
        let fitting = self.largest_chunk()?;
        if self.threads > 1 && fitting * record_bytes < CHUNK_BYTES_MIN.min(self.bytes) {
            return None;
        }
        self.with_chunks(easy.min(fitting)).or_else(|| self.with_chunks(fitting))
    }

    /// Most records of a chunk with which a sort still has all the areas that it must have.
    fn largest_chunk(&self) -> Option<u64> {
        // Small chunks can fail too, for the size of their index; so from above.
        let all = (self.bytes / self.facts.record_bytes).max(CHUNK_RECORDS_MIN);
        let halves = std::iter::successors(Some(all), |&records| Some(records / 2));
        let mut halves = halves.take_while(|&records| records >= CHUNK_RECORDS_MIN);
        let mut low = halves.find(|&records| self.with_chunks(records).is_some())?;
        let mut high = (2 * low).min(all);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.with_chunks(middle).is_some() { low = middle } else { high = middle - 1 }
        }
        Some(low)
    }

    fn with_chunks(&self, chunk_records: u64) -> Option<Plan> {
        let Facts { record_bytes, key_bytes, budget_bytes, .. } = *self.facts;
        let (bytes, records) = (self.bytes, self.bytes / record_bytes);
        let chunk_bytes = chunk_records * record_bytes;
        let area_bytes = self.area_bytes(chunk_records);
        let spare_bytes = align_up(chunk_records * 8);
        let chunks = chunk_count(&self.facts.input_bytes, chunk_bytes, self.extents_max as usize);

        let bin_bytes = (chunk_bytes * FILL_PERCENT / 100).max(record_bytes);
        let bins = bytes.div_ceil(bin_bytes).max(1);
        let levels = levels(bins, fan_out(chunk_bytes) as u64);
        let bins_at_once = root(bins, levels);
        let levels = u64::from(levels);
        if levels > LEVELS_MAX {
            return None;
        }
        // A piece for each bin, one more for each block that ends inside one, and a quarter for
        // bins that are split though they were not meant to.
        let pieces_of_chunk = bins_at_once.min(chunk_records) + chunk_bytes / self.block_bytes + 2;
        let pieces = chunks * pieces_of_chunk * if levels > 1 { 2 } else { 1 };
        let sample =
            samples(bins_at_once, key_bytes, budget_bytes) * (2 * key_bytes + SAMPLE_ENTRY_BYTES);
        let index_bytes = align_up((pieces + pieces / 4) * PIECE_ENTRY_BYTES + sample);

        let pool_bytes = xsort_disk::align_down(budget_bytes.checked_sub(index_bytes)?);
        let for_areas = pool_bytes.checked_sub(self.threads * spare_bytes + self.blocks_bytes())?;
        let gather_areas = self.gather_areas();
        let areas_fitting = for_areas / area_bytes;
        if areas_fitting < gather_areas.min(chunks.max(1) + 1) {
            return None;
        }
        let areas = areas_fitting.min(chunks.max(1) + gather_areas);
        let resident = if levels > 1 || !self.facts.may_keep {
            0
        } else {
            areas.saturating_sub(gather_areas).min(chunks)
        };
        let spilled = chunks - resident;

        // Pages are filled up: half a page a piece.
        let spilled_records = (spilled * chunk_records).min(records);
        let padding = spilled * pieces_of_chunk * PAGE / 2;
        let spilled_bytes = if spilled > 0 { spilled_records * record_bytes + padding } else { 0 };
        Some(Plan {
            shape: Shape::Scatter(ScatterShape {
                bins: bins as usize,
                bin_bytes,
                levels: levels as usize,
                gather_areas: gather_areas.min(areas) as usize,
            }),
            records,
            bytes,
            record_bytes,
            key_bytes,
            budget_bytes,
            threads: self.threads as usize,
            pool_bytes,
            index_bytes,
            chunk_bytes,
            extents_max: self.extents_max as usize,
            chunks: chunks as usize,
            spilled_chunks: spilled as usize,
            areas: areas.min(chunks) as usize,
            area_bytes,
            spare_bytes,
            block_bytes: self.block_bytes,
            spill_blocks: self.spill_blocks as usize,
            output_block_bytes: self.output_block_bytes,
            output_blocks: self.output_blocks as usize,
            seam_pages: self.seam_pages() as usize,
            scratch_bytes: align_up(levels * (spilled_bytes + spilled_bytes / 50)),
            read_bytes: bytes + levels * spilled_bytes,
            write_bytes: bytes + levels * spilled_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_as_few_as_do_and_bins_as_few_as_do_at_each() {
        let numbers = (1..3000).chain([(1 << 16) - 1, 1 << 16, (1 << 16) + 1, 1 << 40, u64::MAX]);
        for (bins, fan_out) in
            numbers.flat_map(|bins| [8, 100, 1 << 16].map(|fan_out| (bins, fan_out)))
        {
            let levels = levels(bins, fan_out);
            assert!(
                u128::from(fan_out).saturating_pow(levels) >= u128::from(bins),
                "{bins} {fan_out}"
            );
            assert!(levels == 1 || fan_out.pow(levels - 1) < bins, "{bins} {fan_out}");
            let at_once = root(bins, levels);
            assert!(at_once <= fan_out, "{bins} {fan_out}");
            assert!(
                u128::from(at_once).saturating_pow(levels) >= u128::from(bins),
                "{bins} {fan_out}"
            );
            assert!(at_once == 1 || (at_once - 1).pow(levels) < bins, "{bins} {fan_out}");
        }
    }
}
