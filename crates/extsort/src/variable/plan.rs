//! How a sort of lines divides its budget.
//!
//! ```text
//! form    | desk | desk | ... | spare | spare | ... | area | area | area | ...                     | input    a desk a thread: blocks on their way to scratch
//! merge   | desk | desk | ... | runs that stay | blocks of runs on scratch   | output   a desk a thread: merged lines on their way out
//! ```
//!
//! How many lines there will be, and how long they are, nobody knows. So areas are of one size, and
//! each takes as many lines as it takes.
//!
//! The index of the blocks on scratch is on the heap. What it will take is estimated from the
//! input's size and left out of the pool; blocks are larger where it would be too much. It is
//! counted as it grows, so that a stream that is longer than its share is refused before it takes
//! more.

use super::codec::Codec;
use super::merge_memory::{line_bytes_max, source_blocks, source_line_bytes_max};
use super::options::LinesOptions;
use super::run::Block;
use super::too_long::least_budget;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use xsort_disk::{BlockPool, Lease, align_down, align_up};
use xsort_kernels::lines::Entry;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Less memory than this is not worth a plan: so much is taken in any case.
const BUDGET_BYTES_MIN: u64 = 2 * MIB;
/// Merged lines that a thread collects before it is its turn to write.
const DESK_BYTES_MAX: u64 = 4 * MIB;
/// The same where there is little input.
const DESK_BYTES_SMALL: u64 = 256 * KIB;
/// Least bytes of a block on scratch.
const BLOCK_BYTES_MIN: u64 = 16 * KIB;
/// Blocks that a thread has to write to scratch.
pub(super) const DESK_BLOCKS: usize = 4;
/// Areas beside one for each thread, so that some can be read into, and some kept, while others are
/// sorted.
const SPARE_AREAS: usize = 6;
/// Texts of streams and of large files are cut into chunks of at least so many bytes.
pub(super) const CHUNK_BYTES_MIN: u64 = 8 * MIB;
/// Chunks for each thread, so that there is something to sort while others are read.
const CHUNKS_PER_THREAD: u64 = 4;
/// Input below this is sorted by one thread: starting another takes longer.
const ONE_THREAD_BYTES: u64 = 512 * KIB;

/// Heap bytes of a block on scratch: its entry in the index, and its place in the forecast.
pub(super) const INDEX_ENTRY_BYTES: u64 = size_of::<Block>() as u64 + 8;
/// Entries for each whole block of input: lines may leave blocks half empty, or runs be merged to
/// others, which have their own.
const INDEX_ENTRIES: u64 = 2;
/// An index up to this is among what the program takes beside the budget.
const INDEX_BYTES_BESIDE: u64 = 16 * MIB;
/// The index is to take no more of the budget than this share; it may take twice as much if there
/// is no other way.
const INDEX_SHARE: u64 = 8;

/// Blocks of files that are read or written past the page cache, and how many of them are under
/// way.
const BYPASS_BLOCK_BYTES: u64 = MIB;
pub(super) const BYPASS_BLOCKS: u64 = 16;

/// The shape of a sort of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Threads that sort and merge.
    pub threads: usize,
    /// Bytes of memory that each line takes beside its own; while it is sorted as many more of the
    /// thread's spare ones.
    pub entry_bytes: usize,
    /// Areas that hold a chunk of lines each.
    pub areas: usize,
    /// Bytes of an area.
    pub area_bytes: usize,
    /// Bytes that a thread has to sort a chunk with.
    pub spare_bytes: usize,
    /// Bytes of a thread's buffer.
    pub desk_bytes: usize,
    /// Bytes of a block of files that are read or written past the page cache; 0 if none are.
    pub bypass_block_bytes: usize,
    /// Most bytes of a block on scratch.
    pub block_bytes: usize,
    /// Bytes of the budget that are set aside for the index of what is on scratch.
    pub index_bytes: u64,
    /// Bytes of text after which a chunk is full even if its area isn't; `None` if only time will
    /// tell.
    pub chunk_bytes: Option<u64>,
}

/// The budget, divided.
pub(super) struct Memory {
    pub(super) areas: Vec<Lease>,
    /// One for each thread, to sort with.
    pub(super) spares: Vec<Lease>,
    /// One for each thread.
    pub(super) desks: Vec<Lease>,
    /// Blocks of files that pass the page cache: first the inputs', then the output's.
    pub(super) bypass: Option<Arc<BlockPool>>,
}

impl Plan {
    /// For inputs of so many bytes in all; `None` if that isn't known. Each line takes an entry of
    /// `entry_bytes`.
    pub(super) fn new(
        options: &LinesOptions,
        input_bytes: Option<u64>,
        entry_bytes: usize,
    ) -> Plan {
        let budget = options.budget_bytes.saturating_sub(options.taken_bytes).max(BUDGET_BYTES_MIN);
        let is_small = input_bytes.is_some_and(|bytes| bytes <= ONE_THREAD_BYTES);
        // A desk of 64 KiB or more for each, beside what compression takes.
        let context = options.codec.map_or(0, Codec::context_bytes);
        let threads_max = (budget / (MIB / 2 + context)).max(1) as usize;
        let threads = if is_small { 1 } else { options.threads.clamp(1, threads_max) };
        let desk_max = if is_small { DESK_BYTES_SMALL } else { DESK_BYTES_MAX };
        // Fewer threads have larger desks, and these larger blocks.
        let mut threads = threads;
        let (left, desk, block) = loop {
            let left = budget.saturating_sub(context * threads as u64).max(BUDGET_BYTES_MIN);
            let desk = align_down((left / 8 / threads as u64).min(desk_max));
            let block_max = align_down(desk / DESK_BLOCKS as u64);
            let mut block =
                (1 << (left / 512).max(BLOCK_BYTES_MIN).ilog2()).min(MIB).min(block_max);
            while index_bytes(input_bytes, left, block) > left / INDEX_SHARE
                && 2 * block <= block_max
            {
                block *= 2;
            }
            if index_bytes(input_bytes, left, block) <= left / INDEX_SHARE || threads == 1 {
                break (left, desk, block);
            }
            threads /= 2;
        };
        let areas = if is_small { 1 } else { threads + SPARE_AREAS };
        let index = align_up(index_bytes(input_bytes, left, block).min(2 * left / INDEX_SHARE));
        let budget = left - index;
        // What fits in memory is in the page cache, or might as well be.
        let bypass_block = match input_bytes {
            Some(bytes) if bytes < budget && options.checkpoint.is_none() => 0,
            _ => align_down((budget / 16 / BYPASS_BLOCKS).min(BYPASS_BLOCK_BYTES)),
        };
        // Half an area is enough to sort one with lines of no more bytes than an entry has.
        let most = 2 * (budget - threads as u64 * desk - BYPASS_BLOCKS * bypass_block)
            / (2 * areas + threads) as u64;
        // Lines may all be empty.
        let wanted = input_bytes.map_or(u64::MAX, |bytes| {
            let chunk = if is_small {
                bytes
            } else {
                bytes / (CHUNKS_PER_THREAD * threads as u64) + CHUNK_BYTES_MIN
            };
            align_up((chunk + 4 * KIB) * (1 + entry_bytes as u64))
        });
        let area = align_down(most.min(wanted).min(Entry::<()>::TEXT_BYTES_MAX as u64));
        Plan {
            threads,
            entry_bytes,
            areas,
            area_bytes: area as usize,
            spare_bytes: align_down(if is_small { area.min(most / 2) } else { most / 2 }) as usize,
            desk_bytes: desk as usize,
            bypass_block_bytes: bypass_block as usize,
            block_bytes: block as usize,
            index_bytes: index,
            chunk_bytes: input_bytes.map(|bytes| {
                bytes.div_ceil(CHUNKS_PER_THREAD * threads as u64).max(CHUNK_BYTES_MIN / 8)
            }),
        }
    }

    /// Refuses an input of so many bytes whose index would take more than its share.
    pub(super) fn refuse_index(
        &self,
        options: &LinesOptions,
        input_bytes: Option<u64>,
    ) -> Result<(), Error> {
        let Some(bytes) = input_bytes else { return Ok(()) };
        let is_enough = |budget_bytes| {
            let plan = Plan::new(
                &LinesOptions { budget_bytes, ..options.clone() },
                Some(bytes),
                self.entry_bytes,
            );
            let room_bytes = budget_bytes.saturating_sub(options.taken_bytes).max(BUDGET_BYTES_MIN);
            index_bytes(Some(bytes), room_bytes, plan.block_bytes as u64) <= plan.index_bytes
        };
        if is_enough(options.budget_bytes) {
            return Ok(());
        }
        let needed_bytes = least_budget(options.budget_bytes, is_enough).unwrap_or(u64::MAX);
        Err(Error::Memory { budget_bytes: options.budget_bytes, needed_bytes })
    }

    /// Blocks that the index has room for.
    pub(super) fn index_entries_max(&self) -> u64 {
        (self.index_bytes + INDEX_BYTES_BESIDE) / INDEX_ENTRY_BYTES
    }

    /// For a merge of so many sources that are in order: one area, for blocks of them.
    pub(super) fn of_merge(options: &LinesOptions, sources: usize) -> Plan {
        let plan = Plan::new(options, None, 0);
        let area = plan.areas * plan.area_bytes + plan.threads * plan.spare_bytes;
        // Large ones, so that reading is cheap; but half of the memory is for long lines.
        let block = (area / 2 / source_blocks(sources)).max(BLOCK_BYTES_MIN as usize);
        let block_bytes = (1 << block.ilog2()).min(plan.block_bytes);
        Plan { areas: 1, area_bytes: area, spare_bytes: 0, block_bytes, ..plan }
    }

    /// The memory. If it `is_reused`, more is going to be read into it than it holds.
    pub(super) fn memory(&self, is_reused: bool) -> Result<Memory, Error> {
        let map = if is_reused { Lease::map } else { Lease::map_huge_if_fast };
        let mut memory = map(self.pool_bytes())?;
        let desks = (0..self.threads).map(|_| memory.split_off_front(self.desk_bytes)).collect();
        let spares = (0..self.threads).map(|_| memory.split_off_front(self.spare_bytes)).collect();
        let areas = (0..self.areas).map(|_| memory.split_off_front(self.area_bytes)).collect();
        let bypass = (self.bypass_block_bytes > 0)
            .then(|| BlockPool::new([memory], self.bypass_block_bytes));
        Ok(Memory { areas, spares, desks, bypass })
    }

    /// The longest line that can be sorted, with its delimiter, in bytes.
    pub(super) fn line_bytes_max(&self) -> usize {
        line_bytes_max(self, self.areas * self.area_bytes)
    }

    /// The longest line of so many sorted sources that can be merged, if not too many have such
    /// lines at once.
    pub(super) fn source_line_bytes_max(&self, sources: usize) -> usize {
        source_line_bytes_max(self, sources, self.areas * self.area_bytes).max(self.block_bytes)
    }

    /// Bytes of all memory that grows with the input.
    pub(super) fn pool_bytes(&self) -> usize {
        self.threads * (self.desk_bytes + self.spare_bytes)
            + self.areas * self.area_bytes
            + BYPASS_BLOCKS as usize * self.bypass_block_bytes
    }
}

/// Bytes of the budget for the index of an input, with blocks of so many bytes; of a stream, as
/// much as is good for it.
fn index_bytes(input_bytes: Option<u64>, budget: u64, block_bytes: u64) -> u64 {
    match input_bytes {
        Some(bytes) if bytes < budget => 0,
        Some(bytes) => (INDEX_ENTRIES * (bytes / block_bytes) * INDEX_ENTRY_BYTES)
            .saturating_sub(INDEX_BYTES_BESIDE),
        None => budget / INDEX_SHARE / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use xsort_kernels::Caches;

    fn options(budget_bytes: u64, threads: usize, codec: Option<Codec>) -> LinesOptions {
        LinesOptions {
            delimiter: b'\n',
            is_unique: false,
            budget_bytes,
            taken_bytes: 0,
            threads,
            caches: Caches::default(),
            scratch: vec![PathBuf::from("/scratch")],
            codec,
            output_file: None,
            checkpoint: None,
        }
    }

    /// Or the input is refused, with a budget in which it does.
    #[test]
    fn the_index_of_any_input_stays_within_its_share() {
        let mut refused = 0;
        for budget_mib in [1, 2, 5, 64, 256, 1024, 16 << 10] {
            for threads in [1, 2, 64] {
                for input_bytes in [1 << 30, 5 << 30, 100 << 30, 10 << 40] {
                    let of = |budget_bytes| {
                        let options = options(budget_bytes, threads, None);
                        let plan = Plan::new(&options, Some(input_bytes), 24);
                        let refusal = plan.refuse_index(&options, Some(input_bytes));
                        (plan, refusal)
                    };
                    let (mut plan, mut refusal) = of(budget_mib * MIB);
                    if let Err(Error::Memory { needed_bytes, .. }) = refusal {
                        assert!(needed_bytes > budget_mib * MIB);
                        (plan, refusal) = of(needed_bytes);
                        refused += 1;
                    }
                    assert!(refusal.is_ok(), "{budget_mib} {threads} {input_bytes}: {refusal:?}");
                    let blocks = input_bytes / plan.block_bytes as u64;
                    assert!(
                        2 * blocks <= plan.index_entries_max(),
                        "{budget_mib} {input_bytes}: {plan:?}"
                    );
                }
            }
        }
        assert!(refused > 5 && refused < 60, "{refused}");
    }

    /// Half a desk must have a block to fill and one to compress it into: with fewer a spill would
    /// wait for itself.
    #[test]
    fn every_budget_has_a_plan_that_can_spill() {
        for codec in [None, Some(Codec::Lz4), Some(Codec::Zstd)] {
            for budget_mib in [0, 1, 2, 3, 5, 16, 33, 64, 65, 1024, 1 << 20] {
                for threads in [1, 2, 3, 5, 8, 60, 64, 1000] {
                    for input_bytes in
                        [None, Some(0), Some(1), Some(500_000), Some(600_000), Some(1 << 40)]
                    {
                        let options = options(budget_mib * MIB, threads, codec);
                        let plan = Plan::new(&options, input_bytes, 24);
                        let half_desk = align_down(plan.desk_bytes as u64 / 2);
                        assert!(
                            plan.block_bytes >= BLOCK_BYTES_MIN as usize,
                            "{options:?} {plan:?}"
                        );
                        assert!(half_desk as usize >= 2 * plan.block_bytes, "{options:?} {plan:?}");
                        let contexts = codec.map_or(0, Codec::context_bytes) * plan.threads as u64;
                        let most = options.budget_bytes.max(BUDGET_BYTES_MIN + contexts);
                        let taken = plan.pool_bytes() as u64 + plan.index_bytes + contexts;
                        assert!(taken <= most, "{options:?} {plan:?}");
                        assert!(
                            plan.spare_bytes > 0 && plan.area_bytes > 2 * 24,
                            "{options:?} {plan:?}"
                        );
                    }
                }
            }
        }
    }
}
