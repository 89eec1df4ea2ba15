//! Planning a merge of inputs that are in order: how it divides the budget.
//!
//! ```text
//! pool   | read blocks | output blocks | seam pages |
//! beside | block index (on the heap, but taken from the budget) |
//! ```
//!
//! The planner takes the largest blocks of which the merge has enough for every input and for
//! segments of a good size. If there are none, it takes the first that make a merge possible.

use super::runs::{Budget, Candidate, INDEX_ENTRY_BYTES, Output, WHOLE_CHUNK, block_sizes};
use super::shape::{Facts, MergeShape, Plan, Shape};
use super::sizes::{FLIGHT_BYTES, thread_counts};
use crate::records::runs::records_of_block;
use xsort_disk::{align_down, align_up};

/// The best plan within the budget, if there is one.
pub(crate) fn best_plan(facts: &Facts) -> Option<Plan> {
    let candidates = thread_counts(facts.threads).flat_map(|threads| {
        block_sizes(facts).map(move |block_bytes| Merge { facts, threads, block_bytes })
    });
    let mut possible = None;
    for (plan, is_comfortable) in candidates.filter_map(|merge| merge.plan()) {
        if is_comfortable {
            return Some(plan);
        }
        possible.get_or_insert(plan);
    }
    possible
}

/// A candidate of the search.
struct Merge<'a> {
    facts: &'a Facts,
    threads: usize,
    block_bytes: u64,
}

impl Merge<'_> {
    /// The plan of this candidate, and whether its blocks are enough for segments of a good size.
    fn plan(&self) -> Option<(Plan, bool)> {
        let Merge { facts, threads, block_bytes } = *self;
        let Facts { record_bytes, key_bytes, budget_bytes, ref input_bytes, .. } = *facts;
        let block_records = records_of_block(block_bytes, record_bytes);
        if block_records == 0 {
            return None;
        }
        let runs = input_bytes.iter().filter(|&&bytes| bytes > 0).count() as u64;
        let input_blocks = |bytes: &u64| (bytes / record_bytes).div_ceil(block_records);
        let blocks: u64 = input_bytes.iter().map(input_blocks).sum();
        let index_bytes = align_up((blocks + 2 * runs) * (INDEX_ENTRY_BYTES + key_bytes));
        let pool_bytes = budget_bytes.checked_sub(index_bytes)?.min(facts.pool_bytes_max());
        let pool_bytes = align_down(pool_bytes);

        let merge = Candidate {
            facts,
            threads: threads as u64,
            areas: 0,
            block_bytes,
            chunk_share: WHOLE_CHUNK,
            is_arranged: false,
        };
        let flight_blocks = (FLIGHT_BYTES / block_bytes).clamp(2, 32);
        let compression_bytes = 0;
        let budget = Budget { index_bytes, compression_bytes, pool_bytes, flight_blocks };
        let output = merge.output(&budget);
        let fitting = pool_bytes.checked_sub(output.bytes())? / block_bytes;
        let held = merge.segments_held() + 1;
        let for_segments = fitting.checked_sub(runs + 2).filter(|&blocks| blocks >= held)?;
        let is_comfortable = for_segments >= merge.working_blocks(runs) + flight_blocks;
        let wanted = merge.segment_blocks_wanted();
        let wanted = wanted.max(merge.segment_blocks_by_runs(runs).min(wanted * 8));
        let segment_blocks = (for_segments / held).clamp(1, wanted);
        let enough = runs + 2 + held * segment_blocks + 2 * FLIGHT_BYTES / block_bytes;
        let read_blocks = fitting.min(enough);

        let shape = MergeShape {
            is_arranged: false,
            fan_in_max: runs as usize,
            merge_passes: 1,
            segment_blocks: segment_blocks as usize,
            read_blocks: read_blocks as usize,
        };
        let pool_bytes = output.bytes() + read_blocks * block_bytes;
        Some((self.assemble(shape, Budget { pool_bytes, ..budget }, &output), is_comfortable))
    }

    fn assemble(&self, shape: MergeShape, budget: Budget, output: &Output) -> Plan {
        let Merge { facts, threads, block_bytes } = *self;
        let Facts { record_bytes, key_bytes, budget_bytes, ref input_bytes, .. } = *facts;
        let bytes: u64 = input_bytes.iter().sum();
        Plan {
            shape: Shape::MergeInputs(shape),
            records: bytes / record_bytes,
            bytes,
            record_bytes,
            key_bytes,
            budget_bytes,
            threads,
            pool_bytes: budget.pool_bytes,
            index_bytes: budget.index_bytes,
            compression_bytes: 0,
            chunk_bytes: 0,
            extents_max: 1,
            chunks: 0,
            spilled_chunks: 0,
            areas: 0,
            area_bytes: 0,
            sort_buffer_bytes: 0,
            block_bytes,
            spill_block_bytes: block_bytes,
            spill_blocks: 0,
            output_block_bytes: output.block_bytes,
            output_blocks: output.blocks as usize,
            seam_pages: output.seam_pages as usize,
            scratch_bytes: 0,
            read_bytes: bytes,
            write_bytes: bytes,
        }
    }
}
