//! How runs and merge divide the budget.
//!
//! ```text
//! form runs   | area | area | ... | spare/thread | spill blocks |          one area: chunk of records + 8 bytes a record of order
//! merge       | resident runs (areas that stay)  | read blocks | output blocks | seam pages |
//! both        | block index (on the heap, but taken from the budget)      |
//! ```
//!
//! A larger block makes transfers cheaper and the index smaller, a smaller one lets more runs be
//! merged at once. The planner takes the largest block with which one merge is enough, and only
//! then more passes.

use crate::fixed::chunks::{EXTENTS_MAX, SLACK_BYTES, chunk_count};
use crate::fixed::plan::{
    BLOCK_BYTES_MAX, CHUNK_BYTES_EASY, CHUNK_BYTES_MIN, FLIGHT_BYTES, Facts, KIB, MIB, PAGE, Plan,
    Shape,
};
use crate::store::merge_groups::merge_groups;
use serde::{Deserialize, Serialize};
use xsort_disk::align_up;

/// Below this, transfers cost more than another pass does.
const BLOCK_BYTES_ONE_PASS_MIN: u64 = 32 * KIB;
/// Up to this many runs a merge costs about the same (16 runs or 256: 13 to 30 ns a record); chunks
/// grow beyond what is easy before there are more.
const RUNS_EASY: u64 = 256;
/// Bytes of one segment of the merge: large enough that cutting it is cheap, small enough that all
/// threads get some.
const SEGMENT_BYTES: u64 = 4 * MIB;
/// Records of a segment for each run that takes part, so that cutting (a binary search per run)
/// stays a small share of merging.
const SEGMENT_RECORDS_PER_RUN: u64 = 32;
/// Heap bytes of one entry of the block index and its place in the forecast, without the key.
const INDEX_ENTRY_BYTES: u64 = 48;

/// What only a merge has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeShape {
    /// Most runs that one merge takes.
    pub fan_in_max: usize,
    /// Merges over the whole data, the last one included; 0 if there is nothing to sort.
    pub merge_passes: usize,
    /// Blocks between two cuts of the merge.
    pub segment_blocks: usize,
    /// Blocks for reading runs in the last merge, at least.
    pub read_blocks: usize,
}

/// The best plan within the budget, if there is any.
pub(crate) fn within(facts: &Facts) -> Option<Plan> {
    let threads = std::iter::successors(Some(facts.threads.max(1)), |&t| (t > 1).then_some(t / 2));
    let mut fallback: Option<Plan> = None;
    for threads in threads {
        for block_bytes in block_sizes(facts) {
            for areas in
                (2..=threads + 4).rev().filter(|&areas| areas >= threads + 2 || threads == 1)
            {
                let Some(plan) = Candidate { facts, threads, areas, block_bytes }.plan() else {
                    continue;
                };
                let comfortable = passes(&plan) <= 1
                    && (block_bytes >= BLOCK_BYTES_ONE_PASS_MIN || plan.spilled_chunks == 0)
                    && (plan.chunk_bytes >= CHUNK_BYTES_MIN || threads == 1);
                if comfortable {
                    return Some(plan);
                }
                let better = fallback.as_ref().is_none_or(|best| {
                    let cost =
                        |plan: &Plan| (passes(plan), plan.block_bytes < BLOCK_BYTES_ONE_PASS_MIN);
                    cost(&plan) < cost(best)
                });
                if better {
                    fallback = Some(plan);
                }
            }
        }
    }
    fallback
}

fn passes(plan: &Plan) -> usize {
    let Shape::Merge(MergeShape { merge_passes, .. }) = plan.shape else {
        unreachable!("made here")
    };
    merge_passes
}

/// Sizes of blocks to try, largest first: powers of two from 1 MiB down to a page, none smaller
/// than a record.
fn block_sizes(facts: &Facts) -> impl Iterator<Item = u64> + use<> {
    let least = align_up(facts.record_bytes).next_power_of_two();
    let first = BLOCK_BYTES_MAX.max(least);
    std::iter::successors(Some(first), move |&bytes| (bytes / 2 >= least).then_some(bytes / 2))
}

/// One point of the search.
struct Candidate<'a> {
    facts: &'a Facts,
    threads: usize,
    areas: usize,
    block_bytes: u64,
}

impl Candidate<'_> {
    fn plan(&self) -> Option<Plan> {
        let Facts { record_bytes, key_bytes, budget_bytes, .. } = *self.facts;
        let threads = self.threads as u64;
        let block_bytes = self.block_bytes;
        let bytes = self.facts.input_bytes.iter().sum::<u64>();
        let records = bytes / record_bytes;
        let block_records = block_bytes / record_bytes;

        // The index: one entry a block, a partial block at the end of each run, and an eighth more
        // for runs merged on the way.
        let blocks = records.div_ceil(block_records);
        let partial_blocks = (bytes / (budget_bytes / (self.areas as u64 + 1)).max(1)).min(blocks);
        let index_blocks = blocks + blocks / 8 + partial_blocks + 4;
        let index_bytes = align_up(index_blocks * (INDEX_ENTRY_BYTES + key_bytes));
        let pool_bytes = xsort_disk::align_down(budget_bytes.checked_sub(index_bytes)?);

        // Phase 1: areas, a spare room for each thread, blocks to spill through.
        let flight =
            (FLIGHT_BYTES / block_bytes).clamp(2, 32).min((pool_bytes / 16 / block_bytes).max(2));
        let spill_blocks = threads + flight;
        let spill_bytes = spill_blocks * block_bytes;
        let inputs = self.facts.input_bytes.iter().filter(|&&bytes| bytes > 0).count();
        let even = records.div_ceil(4 * threads).max(CHUNK_BYTES_MIN.div_ceil(record_bytes));
        let easy = CHUNK_BYTES_EASY.max(bytes / RUNS_EASY) / record_bytes;
        let area = |chunk_records: u64, extents: u64| {
            align_up(chunk_records * record_bytes)
                + extents * SLACK_BYTES
                + align_up(chunk_records * 8)
        };
        let for_areas = pool_bytes.checked_sub(spill_bytes)?;
        let extents_max =
            if for_areas / self.areas as u64 > 4 * MIB { inputs.clamp(1, EXTENTS_MAX) } else { 1 }
                as u64;
        let fixed = self.areas as u64 * (extents_max * SLACK_BYTES + 2 * PAGE) + threads * PAGE;
        let per_record = self.areas as u64 * (record_bytes + 8) + threads * 8;
        let fitting = for_areas.checked_sub(fixed)? / per_record;
        let chunk_records = fitting.min(even).min(easy.max(1));
        if chunk_records == 0 {
            return None;
        }
        let chunk_bytes = chunk_records * record_bytes;
        let area_bytes = area(chunk_records, extents_max);
        let spare_bytes = align_up(chunk_records * 8);
        let runs = chunk_count(&self.facts.input_bytes, chunk_bytes, extents_max as usize);
        let areas_fitting = (for_areas - threads * spare_bytes) / area_bytes;

        // Phase 2: output blocks and seams, then resident runs against read blocks.
        let output_blocks =
            threads + (FLIGHT_BYTES / MIB).min((pool_bytes / (32 * block_bytes)).max(2));
        let output_block_bytes =
            floor_power_of_two(pool_bytes / 8 / output_blocks).clamp(PAGE, BLOCK_BYTES_MAX);
        let seam_pages = 2 * (threads + 2) + 8;
        let large_block_bytes = output_block_bytes.max(block_bytes);
        let output_bytes = output_blocks * large_block_bytes + seam_pages * PAGE;

        let segments_held = threads + 2;
        let segment_blocks_wanted = (SEGMENT_BYTES / block_bytes).max(1);
        // Blocks that a merge of so many runs from scratch needs to do well, beside one a run.
        let working = |runs: u64| {
            let by_runs = (runs * SEGMENT_RECORDS_PER_RUN).div_ceil(block_records);
            segments_held * segment_blocks_wanted.min(8).max(by_runs.min(segment_blocks_wanted * 4))
                + flight
        };
        let least_working = segments_held + 2;

        // Everything in memory?
        let may_keep = self.facts.may_keep;
        let all_resident = (may_keep || runs == 0)
            && runs <= areas_fitting.max(self.areas as u64)
            && runs * area_bytes + (threads * spare_bytes).max(output_bytes) <= pool_bytes;
        let areas = if all_resident { runs } else { areas_fitting.min(runs) };
        if areas < 2 && runs > 1 {
            return None;
        }
        // What is free of the pool when so many runs stay: areas, which may lie apart, and one
        // piece; or all of it. All sizes of blocks are powers of two, so it doesn't matter from
        // which pieces the large ones are cut.
        let read_blocks = |resident: u64| {
            let (holes, rest) = match resident {
                0 => (0, pool_bytes),
                _ => (areas - resident, pool_bytes - areas * area_bytes),
            };
            let count = |bytes: u64| holes * (area_bytes / bytes) + rest / bytes;
            count(large_block_bytes).checked_sub(output_blocks)?;
            let for_output = output_blocks * (large_block_bytes / block_bytes)
                + (seam_pages * PAGE).div_ceil(block_bytes);
            count(block_bytes).checked_sub(for_output)
        };
        let (spilled_runs, fan_in_max);
        if all_resident {
            (spilled_runs, fan_in_max) = (0, runs.max(2));
        } else {
            let none_stays = read_blocks(0)?;
            let most = if may_keep { areas.min(runs) } else { 1 };
            let resident = (0..most).rev().find(|&resident| {
                let spilled = runs - resident;
                read_blocks(resident).is_some_and(|blocks| spilled + 2 + working(spilled) <= blocks)
            });
            let generous = none_stays.saturating_sub(2 + working(runs.min(none_stays / 2)));
            match resident {
                Some(resident) => (spilled_runs, fan_in_max) = (runs - resident, runs.max(2)),
                None if generous >= 16 => (spilled_runs, fan_in_max) = (runs, generous),
                None => {
                    (spilled_runs, fan_in_max) =
                        (runs, none_stays.saturating_sub(2 + least_working))
                }
            }
            if fan_in_max < 2 {
                return None;
            }
        }

        let read_blocks = read_blocks(runs - spilled_runs).unwrap_or(0);
        let fan_in = runs.min(fan_in_max);
        let room = read_blocks.saturating_sub(spilled_runs.min(fan_in) + flight.min(2));
        let segment_blocks = if spilled_runs == 0 {
            (SEGMENT_BYTES / block_bytes)
                .max((runs * SEGMENT_RECORDS_PER_RUN).div_ceil(block_records))
                .max(1)
        } else {
            (room / (segments_held + 1)).clamp(
                1,
                segment_blocks_wanted.max(
                    (fan_in * SEGMENT_RECORDS_PER_RUN)
                        .div_ceil(block_records)
                        .min(segment_blocks_wanted * 8),
                ),
            )
        };

        let (moved_chunks, largest_chunks) = reduced_chunks(runs as usize, fan_in_max as usize);
        let on_scratch = |records: u64| records.div_ceil(block_records) * block_bytes;
        let spilled_records = (spilled_runs * chunk_records).min(records);
        let remerged_records = moved_chunks * chunk_records;
        let largest_records = (largest_chunks * chunk_records).min(records);
        let merge_passes =
            if records == 0 { 0 } else { 1 + (remerged_records.div_ceil(records.max(1)) as usize) };
        Some(Plan {
            shape: Shape::Merge(MergeShape {
                fan_in_max: fan_in_max as usize,
                merge_passes,
                segment_blocks: segment_blocks as usize,
                read_blocks: read_blocks as usize,
            }),
            records,
            bytes,
            record_bytes,
            key_bytes,
            budget_bytes,
            threads: self.threads,
            pool_bytes,
            index_bytes,
            chunk_bytes,
            areas: areas as usize,
            area_bytes,
            spare_bytes,
            extents_max: extents_max as usize,
            chunks: runs as usize,
            spilled_chunks: spilled_runs as usize,
            block_bytes,
            spill_blocks: spill_blocks as usize,
            output_block_bytes,
            output_blocks: output_blocks as usize,
            seam_pages: seam_pages as usize,
            // A run merged on the way has partial blocks at its cuts: an eighth more is enough by
            // the segment's size.
            scratch_bytes: on_scratch(spilled_records)
                + spilled_runs * block_bytes
                + on_scratch(largest_records) * 9 / 8,
            read_bytes: bytes + on_scratch(spilled_records) + on_scratch(remerged_records),
            write_bytes: bytes + on_scratch(spilled_records) + on_scratch(remerged_records),
        })
    }
}

fn floor_power_of_two(n: u64) -> u64 {
    if n == 0 { 0 } else { 1 << n.ilog2() }
}

/// What the merges on the way move, in chunks: all together, and the largest one. Every run is one
/// chunk at first.
fn reduced_chunks(runs: usize, fan_in_max: usize) -> (u64, u64) {
    let mut weights = vec![1u64; runs];
    let (mut moved, mut largest) = (0, 0);
    while weights.len() > fan_in_max {
        let mut next = Vec::new();
        let mut rest = &weights[..];
        for taken in merge_groups(weights.len(), fan_in_max) {
            let weight = rest[..taken].iter().sum();
            rest = &rest[taken..];
            next.push(weight);
            if taken > 1 {
                moved += weight;
                largest = largest.max(weight);
            }
        }
        weights = next;
    }
    (moved, largest)
}
