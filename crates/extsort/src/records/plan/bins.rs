//! Planning scatter and gather: how they divide the budget.
//!
//! ```text
//! scatter | areas for chunks of the input   | sort buffers | spill blocks |
//! split   | resident chunks | areas for bins | sort buffers | spill blocks |
//! gather  | resident chunks | areas for bins | sort buffers | output blocks | seam pages |
//! always  | index of pieces, and the sample (on the heap, but taken from the budget) |
//! ```
//!
//! A bin is loaded into an area as large as a chunk's. Small areas leave more chunks in memory;
//! large areas need fewer bins and so give larger pieces. The planner takes the smallest area whose
//! pieces are still large enough for a drive. Only if the budget has none does it plan a second
//! level of bins.

use super::shape::{Facts, Plan, ScatterShape, Shape};
use super::sizes::{
    BLOCK_BYTES_MAX, CHUNK_BYTES_MIN, FLIGHT_BYTES, KIB, MIB, PAGE, seam_pages, thread_counts,
};
use crate::records::chunks::{EXTENTS_MAX, SLACK_BYTES, chunk_count};
use crate::store::places::Places;
use xsort_disk::{align_down, align_up};

/// A piece of this size is worth its own transfer.
pub(crate) const PIECE_BYTES_EASY: u64 = 256 * KIB;
/// Below this piece size, reading a bin takes longer than another level.
const PIECE_BYTES_MIN: u64 = 64 * KIB;
/// Below this piece size, bins in place are no faster than a merge
/// (docs/experiments/2026-11-27-in-place.md).
const IN_PLACE_PIECE_BYTES: u64 = 96 * KIB;
/// Percentage of an area that a bin is planned to fill. With [`SAMPLES_PER_BIN`], one bin in ten
/// thousand turns out larger than its area.
const FILL_PERCENT: u64 = 75;
/// Sampled keys for each bin. The bin's size is then within 6% (one standard deviation) of its
/// target.
const SAMPLES_PER_BIN: u64 = 256;
/// Heap bytes of a piece's entry while the index is built.
const PIECE_ENTRY_BYTES: u64 = 80;
/// Heap bytes of a sampled key, in addition to two copies of the key.
const SAMPLE_ENTRY_BYTES: u64 = 24;
/// Minimum number of bins in a scatter, so that it always makes bins smaller.
const FAN_OUT_MIN: usize = 8;
/// Minimum number of records in a chunk, so that a scatter always makes bins smaller.
const CHUNK_RECORDS_MIN: u64 = 8;
/// Maximum number of levels. More make no sense.
const LEVELS_MAX: u64 = 8;

/// In the output's file, each bin begins 1/`LEAD_SHARE` of the output's size after its position in
/// the output. If the sample's error is smaller than this, no bin is in the way of an earlier one.
/// With 16,384 sampled keys of records in random order, the error is smaller in all but one case in
/// a thousand (the bound of Dvoretzky, Kiefer and Wolfowitz).
const LEAD_SHARE: u64 = 64;

/// The number of bins into which chunks of this size can be scattered at once.
pub(crate) fn fan_out(chunk_bytes: u64) -> usize {
    ((chunk_bytes / PIECE_BYTES_MIN) as usize).clamp(FAN_OUT_MIN, 1 << 16)
}

/// The number of levels needed to scatter into `bins` bins, with at most `fan_out` at each level.
pub(crate) fn levels(bins: u64, fan_out: u64) -> u32 {
    (1..).find(|&levels| fan_out.saturating_pow(levels) >= bins).expect("a fan-out is two or more")
}

/// The number of bins at each of `levels` levels that gives `bins` in total: the root, rounded up.
/// Computed in integers, because floating-point powers would load the C mathematics library at
/// every start.
pub(crate) fn bins_per_level(bins: u64, levels: u32) -> u64 {
    let (mut low, mut high) = (1, bins.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if middle.saturating_pow(levels) >= bins { high = middle } else { low = middle + 1 }
    }
    low
}

/// The number of keys to sample for `bins` bins.
pub(crate) fn sample_keys(plan: &Plan, bins: usize) -> u64 {
    samples(bins as u64, plan.key_bytes, plan.budget_bytes).min(plan.records)
}

fn samples(bins: u64, key_bytes: u64, budget_bytes: u64) -> u64 {
    let affordable = budget_bytes / 64 / (2 * key_bytes + SAMPLE_ENTRY_BYTES);
    (bins * SAMPLES_PER_BIN).min(affordable).max(16)
}

/// The distance, in bytes, between a bin in the output's file and its position in the output.
pub(crate) fn lead_bytes(bytes: u64, block_bytes: u64) -> u64 {
    (bytes / LEAD_SHARE).next_multiple_of(block_bytes)
}

/// The best plan within the budget, if there is one.
pub(super) fn best_plan(facts: &Facts) -> Option<Plan> {
    let in_place = if facts.in_place { best_in_place(facts) } else { None };
    in_place.or_else(|| {
        let mut threads = thread_counts(facts.threads);
        threads.find_map(|threads| Candidate::new(facts, threads as u64).plan())
    })
}

/// The best plan with bins in place, preferably one with large pieces. If memory is short, it has
/// no more areas than threads (at least two), so that the areas are larger.
fn best_in_place(facts: &Facts) -> Option<Plan> {
    let candidate = Candidate::new(facts, facts.threads as u64);
    let fewer = Candidate { gather_areas: candidate.threads.max(2), ..candidate.clone() };
    let plans = [candidate, fewer].into_iter().filter_map(|candidate| candidate.plan());
    let mut plans: Vec<Plan> = plans.filter(Plan::is_in_place).collect();
    match plans.iter().position(is_good_in_place) {
        Some(good) => Some(plans.swap_remove(good)),
        None => plans.pop(),
    }
}

/// True if bins are in the output's file and their pieces are large enough.
pub(super) fn is_good_in_place(plan: &Plan) -> bool {
    let Shape::Scatter(shape) = &plan.shape else { return false };
    shape.in_place && plan.chunk_bytes / shape.bins.max(1) as u64 >= IN_PLACE_PIECE_BYTES
}

/// A number of threads, and the sizes that follow from it alone.
#[derive(Clone)]
struct Candidate<'a> {
    facts: &'a Facts,
    threads: u64,
    /// Number of areas for loading bins.
    gather_areas: u64,
    bytes: u64,
    block_bytes: u64,
    spill_blocks: u64,
    output_block_bytes: u64,
    output_blocks: u64,
    extents_max: u64,
}

impl Candidate<'_> {
    fn new(facts: &Facts, threads: u64) -> Candidate<'_> {
        let budget = facts.budget_bytes;
        let least = align_up(facts.record_bytes).next_power_of_two();
        let part = (budget / 64).max(PAGE);
        let block_bytes = (1 << part.ilog2()).min(BLOCK_BYTES_MAX).max(least);
        let flight =
            (FLIGHT_BYTES / block_bytes).clamp(2, 32).min((budget / 16 / block_bytes).max(2));
        let inputs = facts.input_bytes.iter().filter(|&&bytes| bytes > 0).count();
        Candidate {
            facts,
            threads,
            gather_areas: threads + if threads == 1 { 1 } else { 2 },
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
        }
    }

    /// Size of an area for chunks of `chunk_records` records, in bytes.
    fn area_bytes(&self, chunk_records: u64) -> u64 {
        align_up(chunk_records * self.facts.record_bytes)
            + self.extents_max * SLACK_BYTES
            + align_up(chunk_records * 8)
    }

    /// Bytes of blocks in the phase that needs more.
    fn blocks_bytes(&self) -> u64 {
        let output = self.output_blocks * self.output_block_bytes + seam_pages(self.threads) * PAGE;
        output.max(self.spill_blocks * self.block_bytes)
    }

    /// The plan with the smallest chunks that give good pieces, otherwise with the largest chunks
    /// that fit.
    fn plan(&self) -> Option<Plan> {
        let Facts { record_bytes, .. } = *self.facts;
        let records = self.bytes / record_bytes;
        let even = records.div_ceil(4 * self.threads).max(CHUNK_BYTES_MIN.div_ceil(record_bytes));
        // A piece is a chunk's share of a bin, and a bin is about the size of a chunk: chunk^2 /
        // bytes.
        let easy =
            ((self.bytes as f64) * (PIECE_BYTES_EASY * 100 / FILL_PERCENT) as f64).sqrt() as u64;
        let easy = (easy / record_bytes).max(CHUNK_BYTES_MIN.div_ceil(record_bytes)).min(even);
        let fitting = self.largest_chunk()?;
        if self.threads > 1 && fitting * record_bytes < CHUNK_BYTES_MIN.min(self.bytes) {
            return None;
        }
        self.with_chunks(easy.min(fitting)).or_else(|| self.with_chunks(fitting))
    }

    /// The largest number of records in a chunk for which all required areas fit.
    fn largest_chunk(&self) -> Option<u64> {
        // Small chunks can also fail, because of their index; so the search goes from large to
        // small.
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

    /// The plan with chunks of `chunk_records` records, if it fits.
    fn with_chunks(&self, chunk_records: u64) -> Option<Plan> {
        let chunks = self.chunks(chunk_records)?;
        let sort_buffer_bytes = align_up(chunk_records * 8);
        let pool_bytes = self.facts.budget_bytes.checked_sub(chunks.index_bytes)?;
        let pool_bytes = align_down(pool_bytes.min(self.facts.pool_bytes_max()));
        let blocks_bytes = self.threads * sort_buffer_bytes + self.blocks_bytes();
        let for_areas = pool_bytes.checked_sub(blocks_bytes)?;
        let gather_areas = self.gather_areas;
        let fitting = for_areas / self.area_bytes(chunk_records);
        if fitting < gather_areas.min(chunks.count.max(1) + 1) {
            return None;
        }
        let areas = fitting.min(chunks.count.max(1) + gather_areas);
        let resident = if chunks.levels > 1 || !self.facts.may_keep {
            0
        } else {
            areas.saturating_sub(gather_areas).min(chunks.count)
        };
        let Facts { record_bytes, key_bytes, budget_bytes, .. } = *self.facts;
        let (bytes, records) = (self.bytes, self.bytes / record_bytes);
        let spilled = chunks.count - resident;
        // The last page of each piece is half empty on average.
        let spilled_records = (spilled * chunk_records).min(records);
        let padding_bytes = spilled * chunks.pieces * PAGE / 2;
        let spilled_bytes =
            if spilled > 0 { spilled_records * record_bytes + padding_bytes } else { 0 };
        let moved_bytes = bytes + chunks.levels * spilled_bytes;
        let in_place = self.facts.in_place && chunks.levels == 1 && spilled > 0;
        let scratch_bytes = match in_place {
            true => self.bytes_beside_output(spilled, &chunks, chunk_records),
            false => align_up(chunks.levels * (spilled_bytes + spilled_bytes / 50)),
        };
        Some(Plan {
            shape: Shape::Scatter(ScatterShape {
                bins: chunks.bins as usize,
                bin_bytes: chunks.bin_bytes,
                levels: chunks.levels as usize,
                gather_areas: gather_areas.min(areas) as usize,
                in_place,
            }),
            records,
            bytes,
            record_bytes,
            key_bytes,
            budget_bytes,
            threads: self.threads as usize,
            pool_bytes,
            index_bytes: chunks.index_bytes,
            compression_bytes: 0,
            chunk_bytes: chunk_records * record_bytes,
            extents_max: self.extents_max as usize,
            chunks: chunks.count as usize,
            spilled_chunks: spilled as usize,
            areas: areas.min(chunks.count) as usize,
            area_bytes: self.area_bytes(chunk_records),
            sort_buffer_bytes,
            block_bytes: self.block_bytes,
            spill_block_bytes: self.block_bytes,
            spill_blocks: self.spill_blocks as usize,
            output_block_bytes: self.output_block_bytes,
            output_blocks: self.output_blocks as usize,
            seam_pages: seam_pages(self.threads) as usize,
            scratch_bytes,
            read_bytes: moved_bytes,
            write_bytes: moved_bytes,
        })
    }

    /// The number of bytes by which the output's file exceeds the output while bins are in it.
    fn bytes_beside_output(&self, spilled: u64, chunks: &Chunks, chunk_records: u64) -> u64 {
        let chunk_bytes = chunk_records * self.facts.record_bytes;
        let paged_bytes = chunk_bytes + chunks.pieces * PAGE / 2;
        // A block may lack one record, and a 64th, to be full. A chunk's last block may be emptier,
        // and there is little space after the last bin.
        let of_bytes = (paged_bytes + paged_bytes / 32).div_ceil(self.block_bytes);
        let of_records = chunk_records.div_ceil(self.block_bytes / self.facts.record_bytes);
        let blocks = of_bytes.max(of_records);
        let lead_bytes = lead_bytes(self.bytes, self.block_bytes);
        let placed_bytes = self.bytes.max(spilled * blocks * self.block_bytes);
        let placed_bytes = placed_bytes + spilled * self.block_bytes;
        (lead_bytes + placed_bytes).next_multiple_of(self.block_bytes) - self.bytes
    }

    /// The sizes for chunks of `chunk_records` records; `None` if they need too many levels.
    fn chunks(&self, chunk_records: u64) -> Option<Chunks> {
        let Facts { record_bytes, key_bytes, budget_bytes, .. } = *self.facts;
        let chunk_bytes = chunk_records * record_bytes;
        let count = chunk_count(&self.facts.input_bytes, chunk_bytes, self.extents_max as usize);
        let bin_bytes = (chunk_bytes * FILL_PERCENT / 100).max(record_bytes);
        let bins = self.bytes.div_ceil(bin_bytes).max(1);
        let levels = levels(bins, fan_out(chunk_bytes) as u64);
        let bins_at_once = bins_per_level(bins, levels);
        let levels = u64::from(levels);
        if levels > LEVELS_MAX {
            return None;
        }
        // One piece for each bin, and one more for each block that ends inside a piece.
        let pieces = bins_at_once.min(chunk_records) + chunk_bytes / self.block_bytes + 2;
        // A quarter more, for bins that are split although the plan didn't expect it.
        let entries = count * pieces * if levels > 1 { 2 } else { 1 };
        let entries = entries + entries / 4;
        let sampled = samples(bins_at_once, key_bytes, budget_bytes);
        let sample_bytes = sampled * (2 * key_bytes + SAMPLE_ENTRY_BYTES);
        let place_bytes = match self.facts.in_place && levels == 1 {
            // The start of each bin, and the places of a file that is a quarter larger than the
            // output.
            true => {
                Places::heap_bytes(self.bytes * 5 / 4, self.block_bytes) + 4 * 24 * bins_at_once
            }
            false => 0,
        };
        let index_bytes = align_up(entries * PIECE_ENTRY_BYTES + sample_bytes + place_bytes);
        Some(Chunks { count, bin_bytes, bins, levels, pieces, index_bytes })
    }
}

/// The sizes that follow from the chunk size alone.
struct Chunks {
    count: u64,
    bin_bytes: u64,
    bins: u64,
    levels: u64,
    /// Number of pieces from each chunk.
    pieces: u64,
    index_bytes: u64,
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
            let at_once = bins_per_level(bins, levels);
            assert!(at_once <= fan_out, "{bins} {fan_out}");
            assert!(
                u128::from(at_once).saturating_pow(levels) >= u128::from(bins),
                "{bins} {fan_out}"
            );
            assert!(at_once == 1 || (at_once - 1).pow(levels) < bins, "{bins} {fan_out}");
        }
    }
}
