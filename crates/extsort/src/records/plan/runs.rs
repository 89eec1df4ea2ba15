//! Planning runs and merge: how they divide the budget.
//!
//! ```text
//! form runs | area | area | ... | sort buffers | spill blocks |
//! merge     | resident runs (areas that stay) | read blocks | output blocks | seam pages |
//! both      | block index (on the heap, but taken from the budget) | compression |
//! ```
//!
//! An area holds a chunk of records, and their order in 8 bytes a record. If all chunks stay in
//! memory, each thread moves a chunk's records into their order, in an additional area. The merge
//! then reads each chunk sequentially. Otherwise it would miss the processor's caches and TLB at
//! every record (docs/experiments/2026-11-24-arranged-records.md).
//!
//! Larger blocks make transfers cheaper and the index smaller. Smaller blocks let more runs be
//! merged at once. The planner takes the largest block for which one merge is enough. Only if there
//! is none does it plan more passes.

use super::shape::{Facts, MergeShape, Plan, Shape};
use super::sizes::{
    ARRANGED_CHUNK_BYTES_EASY, BLOCK_BYTES_MAX, CHUNK_BYTES_EASY, CHUNK_BYTES_MIN, FLIGHT_BYTES,
    KIB, MIB, PAGE, seam_pages, thread_counts,
};
use crate::Codec;
use crate::records::chunks::{EXTENTS_MAX, SLACK_BYTES, chunk_count};
use crate::records::runs::{Block, RunBlock};
use crate::store::compression::workspace_bytes;
use crate::store::merge_groups::merge_groups;
use xsort_disk::{align_down, align_up};

/// With blocks below this size, transfers cost more than another pass.
const BLOCK_BYTES_ONE_PASS_MIN: u64 = 32 * KIB;
/// Up to this number of runs, the cost of a merge hardly depends on it (16 or 256 runs: 13 to 30 ns
/// a record). Chunks grow beyond [`CHUNK_BYTES_EASY`] before there are more runs.
const RUNS_EASY: u64 = 256;
/// Number of runs that are easy to merge if their records were moved into order.
const ARRANGED_RUNS_EASY: u64 = 64;
/// Smaller data fits in the processor's caches anyway.
const ARRANGED_BYTES_MIN: u64 = 16 * MIB;
/// Moving larger records costs more than it saves: each has its own cache lines and pages.
const ARRANGED_RECORD_BYTES_MAX: u64 = KIB;
/// Bytes of one segment of the merge: large enough that cutting it is cheap, small enough that all
/// threads get work.
const SEGMENT_BYTES: u64 = 4 * MIB;
/// Records of a segment for each run that takes part. Cutting needs a binary search for each run,
/// and must stay a small share of merging.
const SEGMENT_RECORDS_PER_RUN: u64 = 32;
/// With little memory, and so small blocks, several blocks are written at once: together they take
/// a 128th of the pool. A drive writes 64 KiB blocks at only two thirds to three quarters of its
/// rate (docs/experiments/2026-11-26-larger-writes.md).
const SPILL_BLOCK_SHARE: u64 = 128;
/// Fewer areas are larger, and so are the runs. A merge then has fewer runs, and memory for blocks
/// of at least this size (docs/experiments/2026-11-27-fewer-areas.md).
const FEW_AREAS_BLOCK_BYTES_MIN: u64 = 64 * KIB;
/// The part of the pool for writes to scratch if there are few areas. A thread that empties an area
/// must not wait for writes, because this area is filled next.
const FEW_AREAS_SPILL_SHARE: u64 = 6;
/// Number of output blocks, in addition to one for each thread, that must fit at the chosen block
/// size. More blocks make the queue longer, but smaller blocks cost more than that gains: 8 GB in
/// 64 MiB took 5% less time with 10 blocks of 512 KiB than with 30 of 128 KiB.
const OUTPUT_BLOCKS_FEW: u64 = 8;
/// Smaller chunks are tried in sixteenths of the planned size, down to 13 of them. With three or
/// four chunks in memory during a merge, this saves at least half a chunk.
pub(super) const WHOLE_CHUNK: u64 = 16;
const CHUNK_SHARE_MIN: u64 = 13;
/// Smaller chunks mean more runs, so they must reduce the moved bytes by more than a 128th.
const WORTHWHILE_SHARE: u64 = 128;
/// Heap bytes of a block's index entry and its place in the forecast, without the key.
pub(crate) const INDEX_ENTRY_BYTES: u64 = 48;
const _: () = assert!(size_of::<(Block, RunBlock)>() as u64 <= INDEX_ENTRY_BYTES);

/// The best plan within the budget, if there is one. Without memory for compression, nothing is
/// compressed.
pub(super) fn best_plan(facts: &Facts) -> Option<Plan> {
    let Some(codec) = facts.codec else { return best_of_all(facts) };
    let plain = best_of_all(&Facts { codec: None, ..facts.clone() })?;
    if plain.spilled_chunks == 0 {
        return Some(plain);
    }
    // Compression's memory must not cost passes. If compression may turn out not to pay, its memory
    // must not cost anything important.
    let is_as_good = |plan: &Plan| {
        plan.threads == plain.threads
            && 2 * plan.block_bytes >= plain.block_bytes
            && plan.compression_bytes <= plan.budget_bytes / 8
    };
    let is_worth_it = |plan: &Plan| {
        plan.spilled_chunks > 0
            && passes(plan) <= passes(&plain)
            && (!codec.is_auto() || is_as_good(plan))
    };
    best_of_all(facts).filter(is_worth_it).or(Some(plain))
}

fn best_of_all(facts: &Facts) -> Option<Plan> {
    if let Some(plan) = arranged_plan(facts) {
        return Some(plan);
    }
    let mut best: Option<Plan> = None;
    for candidate in candidates(facts) {
        let Some(plan) = candidate.plan() else { continue };
        if is_comfortable(&plan) {
            return Some(candidate.with_more_in_memory(plan));
        }
        let cost = |plan: &Plan| (passes(plan), plan.block_bytes < BLOCK_BYTES_ONE_PASS_MIN);
        if best.as_ref().is_none_or(|best| cost(&plan) < cost(best)) {
            best = Some(plan);
        }
    }
    best
}

/// True if a plan merges only once, and neither its blocks nor its chunks are small.
fn is_comfortable(plan: &Plan) -> bool {
    passes(plan) <= 1
        && (plan.block_bytes >= BLOCK_BYTES_ONE_PASS_MIN || plan.spilled_chunks == 0)
        && (plan.chunk_bytes >= CHUNK_BYTES_MIN || plan.threads == 1)
}

/// A plan in which all chunks stay in memory, with their records moved into order, if it fits and
/// pays.
fn arranged_plan(facts: &Facts) -> Option<Plan> {
    let bytes: u64 = facts.input_bytes.iter().sum();
    if !facts.may_keep
        || bytes < ARRANGED_BYTES_MIN
        || facts.record_bytes > ARRANGED_RECORD_BYTES_MAX
    {
        return None;
    }
    let threads = facts.threads.max(1) as u64;
    let candidate = Candidate {
        facts,
        threads,
        areas: 2 * threads,
        block_bytes: block_sizes(facts).next()?,
        chunk_share: WHOLE_CHUNK,
        is_arranged: true,
    };
    candidate.plan().filter(|plan| plan.spilled_chunks == 0)
}

fn passes(plan: &Plan) -> usize {
    let Shape::Merge(MergeShape { merge_passes, .. }) = plan.shape else {
        unreachable!("this file plans merges")
    };
    merge_passes
}

/// The candidates of the search, best first.
fn candidates(facts: &Facts) -> impl Iterator<Item = Candidate<'_>> {
    thread_counts(facts.threads).flat_map(move |threads| {
        let threads = threads as u64;
        block_sizes(facts).flat_map(move |block_bytes| {
            let with_areas = move |areas| {
                let (chunk_share, is_arranged) = (WHOLE_CHUNK, false);
                Candidate { facts, threads, areas, block_bytes, chunk_share, is_arranged }
            };
            let candidates = (threads.max(2)..=threads + 4).rev().map(with_areas);
            candidates.filter(move |candidate| {
                block_bytes >= FEW_AREAS_BLOCK_BYTES_MIN || !candidate.has_few_areas()
            })
        })
    })
}

/// Block sizes to try, largest first: powers of two from 1 MiB down to a page, none smaller than a
/// record.
pub(super) fn block_sizes(facts: &Facts) -> impl Iterator<Item = u64> + use<> {
    let least = align_up(facts.record_bytes).next_power_of_two();
    let first = BLOCK_BYTES_MAX.max(least);
    std::iter::successors(Some(first), move |&bytes| (bytes / 2 >= least).then_some(bytes / 2))
}

/// A candidate of the search.
pub(super) struct Candidate<'a> {
    pub(super) facts: &'a Facts,
    pub(super) threads: u64,
    /// Minimum number of areas while runs are formed.
    pub(super) areas: u64,
    pub(super) block_bytes: u64,
    /// Size of a chunk, in parts of the size planned otherwise; the whole is [`WHOLE_CHUNK`].
    pub(super) chunk_share: u64,
    /// True if chunks stay in memory, with their records moved into order.
    pub(super) is_arranged: bool,
}

/// The budget, divided into the pool and the memory outside it.
pub(super) struct Budget {
    pub(super) index_bytes: u64,
    /// Bytes of a buffer and contexts for each thread.
    pub(super) compression_bytes: u64,
    pub(super) pool_bytes: u64,
    /// Number of blocks in flight that keep a drive busy, as far as the pool has them.
    pub(super) flight_blocks: u64,
}

/// Phase one: the pool while runs are formed.
struct Forming {
    spill_block_bytes: u64,
    spill_blocks: u64,
    extents_max: u64,
    chunk_records: u64,
    area_bytes: u64,
    sort_buffer_bytes: u64,
    /// Number of runs formed.
    runs: u64,
    /// Number of areas that fit.
    areas_fitting: u64,
}

/// Blocks for the output.
pub(super) struct Output {
    pub(super) blocks: u64,
    pub(super) block_bytes: u64,
    pub(super) seam_pages: u64,
    /// Size of an output block or a scratch block, whichever is larger. Intermediate passes write
    /// the latter.
    large_block_bytes: u64,
}

impl Output {
    pub(super) fn bytes(&self) -> u64 {
        self.blocks * self.large_block_bytes + self.seam_pages * PAGE
    }
}

/// Phase two: the pool during the merge.
struct Merging {
    areas: u64,
    spilled_runs: u64,
    fan_in_max: u64,
    read_blocks: u64,
    segment_blocks: u64,
}

impl Candidate<'_> {
    fn plan(&self) -> Option<Plan> {
        let budget = self.budget()?;
        let forming = self.forming(&budget)?;
        let mut output = self.output(&budget);
        let mut merging = self.merging(&budget, &forming, &output)?;
        self.balance(&budget, &forming, &mut output, &mut merging);
        Some(self.assemble(&budget, &forming, &output, &merging))
    }

    /// This candidate's plan, or a plan with smaller chunks if more records then stay in memory.
    /// With large chunks, the merge's blocks may lack a little room, and a whole chunk is spilled
    /// for that.
    fn with_more_in_memory(self, plan: Plan) -> Plan {
        if plan.spilled_chunks == 0 || !self.facts.may_keep {
            return plan;
        }
        let smaller = (CHUNK_SHARE_MIN..WHOLE_CHUNK).rev();
        let plans = smaller.filter_map(|share| Candidate { chunk_share: share, ..self }.plan());
        plans.filter(is_comfortable).fold(plan, |best, plan| {
            let gain = best.write_bytes.saturating_sub(plan.write_bytes);
            if gain > best.write_bytes / WORTHWHILE_SHARE { plan } else { best }
        })
    }

    /// True if there are fewer areas than one for each thread and two to be filled in the meantime.
    /// A single thread always uses two.
    fn has_few_areas(&self) -> bool {
        self.threads > 1 && self.areas < self.threads + 2
    }

    fn bytes(&self) -> u64 {
        self.facts.input_bytes.iter().sum()
    }

    fn records(&self) -> u64 {
        self.bytes() / self.facts.record_bytes
    }

    fn block_records(&self) -> u64 {
        self.block_bytes / self.facts.record_bytes
    }

    /// Number of segments that are held by threads, waiting for a thread, or being read.
    pub(super) fn segments_held(&self) -> u64 {
        self.threads + 2
    }

    /// Divides the budget. The index has an entry for each block, for a partial block at the end of
    /// each run, and an eighth more for the runs of intermediate passes.
    fn budget(&self) -> Option<Budget> {
        let Facts { key_bytes, budget_bytes, .. } = *self.facts;
        let blocks = self.records().div_ceil(self.block_records());
        let runs = self.bytes() / (budget_bytes / (self.areas + 1)).max(1);
        let entries = blocks + blocks / 8 + runs.min(blocks) + 4;
        let index_bytes = align_up(entries * (INDEX_ENTRY_BYTES + key_bytes));
        let of_thread = |codec: Codec| workspace_bytes(self.block_bytes) + codec.context_bytes();
        let compression_bytes = self.facts.codec.map_or(0, |codec| self.threads * of_thread(codec));
        let pool_bytes = budget_bytes.checked_sub(index_bytes + compression_bytes)?;
        let pool_bytes = pool_bytes.min(self.facts.pool_bytes_max());
        let pool_bytes = align_down(pool_bytes);
        let flight_blocks = (FLIGHT_BYTES / self.block_bytes)
            .clamp(2, 32)
            .min((pool_bytes / 16 / self.block_bytes).max(2));
        Some(Budget { index_bytes, compression_bytes, pool_bytes, flight_blocks })
    }

    fn forming(&self, budget: &Budget) -> Option<Forming> {
        let Facts { record_bytes, ref input_bytes, .. } = *self.facts;
        let Candidate { threads, areas, .. } = *self;
        let spill_block_bytes = floor_power_of_two(budget.pool_bytes / SPILL_BLOCK_SHARE)
            .min(BLOCK_BYTES_MAX)
            .max(self.block_bytes);
        let flight_bytes = match self.has_few_areas() {
            true => (budget.pool_bytes / FEW_AREAS_SPILL_SHARE).min(FLIGHT_BYTES),
            false => budget.flight_blocks * self.block_bytes,
        };
        let spill_blocks = threads + flight_bytes.div_ceil(spill_block_bytes).max(2);
        let for_areas = budget.pool_bytes.checked_sub(spill_blocks * spill_block_bytes)?;
        let inputs = input_bytes.iter().filter(|&&bytes| bytes > 0).count();
        let extents_max =
            if for_areas / areas > 4 * MIB { inputs.clamp(1, EXTENTS_MAX) } else { 1 } as u64;

        // The records that fit, but at most four chunks for each thread, and at most the number
        // that is easy to sort; then the candidate's share of that.
        let fixed_bytes = areas * (extents_max * SLACK_BYTES + 2 * PAGE) + threads * PAGE;
        let (order_in_area, order_in_buffer) = if self.is_arranged { (0, 8) } else { (8, 0) };
        let bytes_per_record =
            areas * (record_bytes + order_in_area) + threads * (8 + order_in_buffer);
        let fitting = for_areas.checked_sub(fixed_bytes)? / bytes_per_record;
        let even = self.records().div_ceil(4 * threads);
        let even = even.max(CHUNK_BYTES_MIN.div_ceil(record_bytes));
        let easy = match self.is_arranged {
            true => (self.bytes() / ARRANGED_RUNS_EASY)
                .clamp(ARRANGED_CHUNK_BYTES_EASY, CHUNK_BYTES_EASY),
            false => CHUNK_BYTES_EASY.max(self.bytes() / RUNS_EASY),
        } / record_bytes;
        let chunk_records = fitting.min(even).min(easy.max(1)) * self.chunk_share / WHOLE_CHUNK;
        if chunk_records == 0 {
            return None;
        }
        let chunk_bytes = chunk_records * record_bytes;
        let order_bytes = align_up(chunk_records * 8);
        let pages_bytes = align_up(chunk_bytes) + extents_max * SLACK_BYTES;
        let (area_bytes, sort_buffer_bytes) = match self.is_arranged {
            true => (pages_bytes, 2 * order_bytes),
            false => (pages_bytes + order_bytes, order_bytes),
        };
        Some(Forming {
            spill_block_bytes,
            spill_blocks,
            extents_max,
            chunk_records,
            area_bytes,
            sort_buffer_bytes,
            runs: chunk_count(input_bytes, chunk_bytes, extents_max as usize),
            areas_fitting: (for_areas - threads * sort_buffer_bytes) / area_bytes,
        })
    }

    pub(super) fn output(&self, budget: &Budget) -> Output {
        let flight = (budget.pool_bytes / (32 * self.block_bytes)).max(2);
        let few = self.threads + OUTPUT_BLOCKS_FEW.min(flight);
        let block_bytes = floor_power_of_two(budget.pool_bytes / 8 / few);
        let block_bytes = block_bytes.clamp(PAGE, BLOCK_BYTES_MAX);
        // More blocks, but not smaller ones.
        let flight = (budget.pool_bytes / 32).min(FLIGHT_BYTES) / block_bytes;
        let blocks = few.max(self.threads + flight);
        let large_block_bytes = block_bytes.max(self.block_bytes);
        Output { blocks, block_bytes, seam_pages: seam_pages(self.threads), large_block_bytes }
    }

    fn merging(&self, budget: &Budget, forming: &Forming, output: &Output) -> Option<Merging> {
        let runs = forming.runs;
        let sort_buffers_bytes = self.threads * forming.sort_buffer_bytes;
        // Each thread needs an area to move records to.
        let areas_needed = if self.is_arranged { runs + self.threads } else { runs };
        let all_resident = (self.facts.may_keep || runs == 0)
            && areas_needed <= forming.areas_fitting.max(self.areas)
            && areas_needed * forming.area_bytes + sort_buffers_bytes.max(output.bytes())
                <= budget.pool_bytes;
        if self.is_arranged && !all_resident {
            return None;
        }
        let areas = if all_resident { areas_needed } else { forming.areas_fitting.min(runs) };
        if areas < 2 && runs > 1 {
            return None;
        }
        let read_blocks = |resident| self.read_blocks(resident, areas, budget, forming, output);
        let (spilled_runs, fan_in_max) = if all_resident {
            (0, runs.max(2))
        } else {
            self.spilled_runs(runs, areas, budget.flight_blocks, read_blocks)?
        };
        let read_blocks = read_blocks(runs - spilled_runs).unwrap_or(0);
        let fan_in = runs.min(fan_in_max);
        let segment_blocks = if spilled_runs == 0 {
            (SEGMENT_BYTES / self.block_bytes).max(self.segment_blocks_by_runs(runs)).max(1)
        } else {
            let for_runs = spilled_runs.min(fan_in) + budget.flight_blocks.min(2);
            let wanted = self.segment_blocks_wanted();
            let by_runs = self.segment_blocks_by_runs(fan_in).min(wanted * 8);
            let fitting = read_blocks.saturating_sub(for_runs) / (self.segments_held() + 1);
            fitting.clamp(1, wanted.max(by_runs))
        };
        Some(Merging { areas, spilled_runs, fan_in_max, read_blocks, segment_blocks })
    }

    /// Divides the memory left for reads evenly between read-ahead and write-behind. Writes wait
    /// for reads at the drive: with many more reads in flight, threads wait for output memory
    /// (docs/experiments/2026-11-27-balanced-queues.md).
    fn balance(
        &self,
        budget: &Budget,
        forming: &Forming,
        output: &mut Output,
        merging: &mut Merging,
    ) {
        if merging.spilled_runs == 0 {
            return;
        }
        let in_use = merging.spilled_runs.min(merging.fan_in_max)
            + self.segments_held() * merging.segment_blocks;
        let ahead_bytes = merging.read_blocks.saturating_sub(in_use) * self.block_bytes;
        let behind = output.blocks - self.threads;
        let even = (ahead_bytes / output.large_block_bytes).saturating_sub(behind) / 2;
        let most = (FLIGHT_BYTES / output.large_block_bytes).saturating_sub(behind);
        let longer = Output { blocks: output.blocks + even.min(most), ..*output };
        let resident = forming.runs - merging.spilled_runs;
        let blocks = self.read_blocks(resident, merging.areas, budget, forming, &longer);
        if let Some(blocks) = blocks {
            (*output, merging.read_blocks) = (longer, blocks);
        }
    }

    /// The number of runs that are spilled, and the merge's maximum fan-in. As few runs as possible
    /// are spilled. If the merge can't take all runs even so, all are spilled.
    fn spilled_runs(
        &self,
        runs: u64,
        areas: u64,
        flight_blocks: u64,
        read_blocks: impl Fn(u64) -> Option<u64>,
    ) -> Option<(u64, u64)> {
        let none_stays = read_blocks(0)?;
        let working = |runs| self.working_blocks(runs) + flight_blocks;
        let resident_max = if self.facts.may_keep { areas.min(runs) } else { 1 };
        let resident = (0..resident_max).rev().find(|&resident| {
            let spilled = runs - resident;
            read_blocks(resident).is_some_and(|blocks| spilled + 2 + working(spilled) <= blocks)
        });
        let generous = none_stays.saturating_sub(2 + working(runs.min(none_stays / 2)));
        let (spilled_runs, fan_in_max) = match resident {
            Some(resident) => (runs - resident, runs.max(2)),
            None if generous >= 16 => (runs, generous),
            None => (runs, none_stays.saturating_sub(2 + self.segments_held() + 2)),
        };
        (fan_in_max >= 2).then_some((spilled_runs, fan_in_max))
    }

    /// The number of blocks for reading runs while `resident` runs stay in their areas; `None` if
    /// there is no space left for the output.
    fn read_blocks(
        &self,
        resident: u64,
        areas: u64,
        budget: &Budget,
        forming: &Forming,
        output: &Output,
    ) -> Option<u64> {
        let area_bytes = forming.area_bytes;
        // The free part of the pool: areas, which may lie apart, and one range after them; or the
        // whole pool. All block sizes are powers of two, so it doesn't matter from which of these
        // the large blocks are cut.
        let (free_areas, rest_bytes) = match resident {
            0 => (0, budget.pool_bytes),
            _ => (areas - resident, budget.pool_bytes - areas * area_bytes),
        };
        let count = |bytes: u64| free_areas * (area_bytes / bytes) + rest_bytes / bytes;
        count(output.large_block_bytes).checked_sub(output.blocks)?;
        let for_output = output.blocks * (output.large_block_bytes / self.block_bytes)
            + (output.seam_pages * PAGE).div_ceil(self.block_bytes);
        count(self.block_bytes).checked_sub(for_output)
    }

    pub(super) fn segment_blocks_wanted(&self) -> u64 {
        (SEGMENT_BYTES / self.block_bytes).max(1)
    }

    /// The blocks of a segment for which cutting `runs` runs stays cheap.
    pub(super) fn segment_blocks_by_runs(&self, runs: u64) -> u64 {
        (runs * SEGMENT_RECORDS_PER_RUN).div_ceil(self.block_records())
    }

    /// The number of blocks in segments that an efficient merge of `runs` spilled runs needs,
    /// beside one block for each run.
    pub(super) fn working_blocks(&self, runs: u64) -> u64 {
        let wanted = self.segment_blocks_wanted();
        let by_runs = self.segment_blocks_by_runs(runs).min(wanted * 4);
        self.segments_held() * wanted.min(8).max(by_runs)
    }

    fn assemble(
        &self,
        budget: &Budget,
        forming: &Forming,
        output: &Output,
        merging: &Merging,
    ) -> Plan {
        let Facts { record_bytes, key_bytes, budget_bytes, .. } = *self.facts;
        let (bytes, records) = (self.bytes(), self.records());
        let Forming { chunk_records, runs, .. } = *forming;
        let Merging { spilled_runs, fan_in_max, .. } = *merging;
        let (merged_chunks, largest_chunks) =
            intermediate_chunks(runs as usize, fan_in_max as usize);
        let on_scratch = |records: u64| records.div_ceil(self.block_records()) * self.block_bytes;
        let spilled_records = (spilled_runs * chunk_records).min(records);
        let merged_records = merged_chunks * chunk_records;
        let largest_records = (largest_chunks * chunk_records).min(records);
        let merge_passes =
            if records == 0 { 0 } else { 1 + merged_records.div_ceil(records) as usize };
        let moved_bytes = bytes + on_scratch(spilled_records) + on_scratch(merged_records);
        Plan {
            shape: Shape::Merge(MergeShape {
                is_arranged: self.is_arranged,
                fan_in_max: fan_in_max as usize,
                merge_passes,
                segment_blocks: merging.segment_blocks as usize,
                read_blocks: merging.read_blocks as usize,
            }),
            records,
            bytes,
            record_bytes,
            key_bytes,
            budget_bytes,
            threads: self.threads as usize,
            pool_bytes: budget.pool_bytes,
            index_bytes: budget.index_bytes,
            compression_bytes: budget.compression_bytes,
            chunk_bytes: chunk_records * record_bytes,
            extents_max: forming.extents_max as usize,
            chunks: runs as usize,
            spilled_chunks: spilled_runs as usize,
            areas: merging.areas as usize,
            area_bytes: forming.area_bytes,
            sort_buffer_bytes: forming.sort_buffer_bytes,
            block_bytes: self.block_bytes,
            spill_block_bytes: forming.spill_block_bytes,
            spill_blocks: forming.spill_blocks as usize,
            output_block_bytes: output.block_bytes,
            output_blocks: output.blocks as usize,
            seam_pages: output.seam_pages as usize,
            // A run of an intermediate pass has partial blocks at its cuts. With the segment's
            // size, an eighth more is enough.
            scratch_bytes: on_scratch(spilled_records)
                + spilled_runs * self.block_bytes
                + on_scratch(largest_records) * 9 / 8,
            read_bytes: moved_bytes,
            write_bytes: moved_bytes,
        }
    }
}

fn floor_power_of_two(n: u64) -> u64 {
    if n == 0 { 0 } else { 1 << n.ilog2() }
}

/// The chunks that intermediate passes merge: the total, and the largest resulting run. Every run
/// is one chunk at first.
fn intermediate_chunks(runs: usize, fan_in_max: usize) -> (u64, u64) {
    let mut weights = vec![1u64; runs];
    let (mut merged, mut largest) = (0, 0);
    while weights.len() > fan_in_max {
        let mut next = Vec::new();
        let mut rest = &weights[..];
        for group in merge_groups(weights.len(), fan_in_max) {
            let weight = rest[..group].iter().sum();
            rest = &rest[group..];
            next.push(weight);
            if group > 1 {
                merged += weight;
                largest = largest.max(weight);
            }
        }
        weights = next;
    }
    (merged, largest)
}
