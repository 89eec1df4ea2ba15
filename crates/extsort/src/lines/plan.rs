//! How a sort of lines divides its budget.
//!
//! ```text
//! form    | write buffers | sort buffers | areas                        | input blocks  |
//! merge   | write buffers | runs in memory, blocks of runs on scratch   | output blocks |
//! ```
//!
//! Each thread has a write buffer: for spilled blocks, then for merged lines. The number and length
//! of lines are unknown. So areas have one size, and each takes as many lines as fit.
//!
//! The index of the blocks on scratch is on the heap. Its size is estimated from the input's and
//! left out of the pool. Blocks are larger where the index would exceed its share. It is counted as
//! it grows, so that a stream which outgrows the estimate is refused before the index takes more.

use super::block::SpilledBlock;
use super::options::LinesOptions;
use super::reservation::Share;
use crate::Error;
use crate::job::least_budget::least_budget;
use crate::store::compression::Codec;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use xsort_disk::{BlockPool, Lease, align_down, align_up};
use xsort_kernels::lines::Entry;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The least budget in bytes. A smaller one is raised to this.
pub(super) const BUDGET_BYTES_MIN: u64 = 2 * MIB;
/// The greatest budget in bytes, which is the address space. A larger one is lowered to this.
const BUDGET_BYTES_MAX: u64 = 1 << 47;
/// Least bytes of the budget per thread.
const THREAD_BYTES_MIN: u64 = MIB / 2;
/// Least bytes of the budget per thread for an input of more than [`LARGE_INPUT_BUDGETS`] budgets.
/// One thread forms runs of twice the size and saves a merge pass
/// (docs/experiments/2026-11-25-small-budgets.md).
const THREAD_BYTES_MIN_LARGE: u64 = 2 * MIB;
const LARGE_INPUT_BUDGETS: u64 = 16;
/// Most bytes of a thread's write buffer.
const WRITE_BUFFER_BYTES_MAX: u64 = 4 * MIB;
/// Most bytes of a thread's write buffer for a small input.
const WRITE_BUFFER_BYTES_SMALL: u64 = 256 * KIB;
/// Bytes of all write buffers if few threads write an input known not to fit in memory. A drive
/// that answers in batches needs this many in flight (docs/experiments/2026-11-26-batches.md).
const WRITE_BUFFERS_BYTES: u64 = 16 * MIB;
/// Least and most bytes of a block on scratch.
const BLOCK_BYTES_MIN: u64 = 16 * KIB;
const BLOCK_BYTES_MAX: u64 = MIB;
/// Least blocks in a write buffer: some are filled while others are written.
const WRITE_BUFFER_BLOCKS: u64 = 4;
/// The number of areas is this number per thread, plus [`MORE_AREAS`]. About half of their chunks
/// form one run, while the others are read into and sorted. More areas need less memory to sort
/// with, and leave less of it unused.
const AREAS_PER_THREAD: usize = 2;
const MORE_AREAS: usize = 12;
/// Least bytes of a chunk's text, for streams and large files.
const CHUNK_BYTES_MIN: u64 = 8 * MIB;
/// Bytes of a chunk's text that is sorted with few cache and TLB misses.
const CHUNK_BYTES_GOOD: u64 = 16 * MIB;
/// Most bytes of a chunk's text. Larger chunks don't sort faster, and make the pipeline coarser.
const CHUNK_BYTES_MAX: u64 = 128 * MIB;
/// This number of chunks is merged nearly as fast as few.
const CHUNKS_GOOD: u64 = 64;
/// Share of the data read before it that a stream's chunk may have, as a divisor, so that there is
/// something to sort while it is read.
const STREAM_SHARE: u64 = 4;
/// Share of the other chunks' size that the last chunks have at least, as a divisor.
const LAST_CHUNKS_SHARE: usize = 4;
/// Chunks of a good size per area, so that little of an area stays unused whatever their entries
/// take.
const CHUNKS_PER_AREA: u64 = 4;
/// Least bytes of an area of a sort with a checkpoint, which also writes small inputs to scratch.
/// Enough for the blocks of a merge from there.
const CHECKPOINT_AREA_BYTES: u64 = 2 * MIB;
/// Chunks per thread, so that there is something to sort while others are read.
const CHUNKS_PER_THREAD: u64 = 8;
/// Least number of chunks for several threads together, except where chunks would be smaller than a
/// MiB. Each thread needs the memory of one more chunk to sort with
/// (docs/experiments/2026-11-26-smaller-chunks.md).
const CHUNKS_MIN: u64 = 28;
/// Inputs up to this size in bytes are sorted by one thread, because starting another takes longer.
pub const SMALL_INPUT_BYTES: u64 = 512 * KIB;

/// Heap bytes for a block on scratch: its entry in the index and its place in the forecast.
pub(super) const INDEX_ENTRY_BYTES: u64 = size_of::<SpilledBlock>() as u64 + 8;
/// Index entries per whole block of input: lines may leave blocks half empty, and merge passes form
/// new runs with their own entries.
const INDEX_ENTRIES: u64 = 2;
/// An index up to this size in bytes is part of the program's memory beyond the budget.
const INDEX_BYTES_BESIDE: u64 = 16 * MIB;
/// Share of the budget for the index, as a divisor. The index may take twice as much if there is no
/// other way.
const INDEX_SHARE: u64 = 8;

/// Most bytes of a block for files that bypass the page cache, then the least and most blocks.
const BYPASS_BLOCK_BYTES: u64 = MIB;
const BYPASS_BLOCKS_MIN: u64 = 16;
const BYPASS_BLOCKS_MAX: u64 = 32;

/// Least blocks per merged input, except where they would be smaller than
/// [`MERGED_BLOCK_BYTES_MIN`].
const MERGED_INPUT_BLOCKS: u64 = 8;
const MERGED_BLOCK_BYTES_MIN: u64 = 64 * KIB;
/// Merges of this many bytes use their memory often enough for huge pages to pay.
pub(super) const MERGED_BYTES_LARGE: u64 = 512 * MIB;

/// The shape of a sort of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Threads that sort and merge.
    pub threads: usize,
    /// Bytes of a line's entry. While a chunk is sorted, each line takes this many more in the sort
    /// buffer.
    pub entry_bytes: usize,
    /// Number of areas, each of which holds a chunk of lines.
    pub areas: usize,
    /// Bytes of an area.
    pub area_bytes: usize,
    /// Bytes of a thread's sort buffer.
    #[serde(rename = "spare_bytes")]
    pub sort_buffer_bytes: usize,
    /// Bytes of a thread's write buffer.
    #[serde(rename = "desk_bytes")]
    pub write_buffer_bytes: usize,
    /// Bytes of a block for files that bypass the page cache; 0 if none do.
    pub bypass_block_bytes: usize,
    /// Number of blocks for files that bypass the page cache.
    pub bypass_blocks: usize,
    /// Most bytes of a block on scratch.
    pub block_bytes: usize,
    /// Bytes of the budget that are reserved for the index of the blocks on scratch.
    pub index_bytes: u64,
    /// Bytes of text after which a chunk is full even if its area isn't; `None` if that depends on
    /// how much was read before.
    pub chunk_bytes: Option<u64>,
}

/// The memory of a sort of lines, divided by its plan.
pub(super) struct LinesMemory {
    pub(super) areas: Vec<Lease>,
    /// Sort buffers, one per thread. They become areas once all is sorted.
    pub(super) sort_buffers: Vec<Lease>,
    /// Write buffers, one per thread.
    pub(super) write_buffers: Vec<Lease>,
    /// Blocks for transfers that bypass the page cache: first for the inputs, then for the output.
    pub(super) bypass: Option<Arc<BlockPool>>,
}

impl LinesMemory {
    /// Takes half of the blocks that bypass the page cache, for an output that is written while
    /// inputs are read. `None` if there are too few.
    pub(super) fn split_bypass(&mut self) -> Option<Arc<BlockPool>> {
        let all = self.bypass.take()?;
        let block_bytes = all.block_bytes();
        let blocks = all.capacity();
        let mut left = all.dissolve();
        if blocks < 2 {
            self.bypass = Some(BlockPool::new(left, block_bytes));
            return None;
        }
        let mut own = Vec::new();
        for lease in &mut left {
            while own.len() < blocks / 2 && lease.len() >= block_bytes {
                own.push(lease.split_off_front(block_bytes));
            }
        }
        self.bypass = Some(BlockPool::new(left, block_bytes));
        Some(BlockPool::new(own, block_bytes))
    }
}

impl Plan {
    /// The plan for inputs of `input_bytes` bytes in all, if known. Each line takes an entry of
    /// `entry_bytes` bytes. `needs_bypass` is true if an input or the output must bypass the page
    /// cache.
    pub(super) fn new(
        options: &LinesOptions,
        input_bytes: Option<u64>,
        entry_bytes: usize,
        needs_bypass: bool,
    ) -> Plan {
        let is_small = input_bytes.is_some_and(|bytes| bytes <= SMALL_INPUT_BYTES);
        let Shares { threads, bytes, write_buffer, block } =
            Shares::new(options, input_bytes, is_small);
        let index = align_up(index_bytes(input_bytes, bytes, block).min(2 * bytes / INDEX_SHARE));
        let pool = bytes - index;
        // Inputs that fit in memory are in the page cache, or might as well be.
        let bypass_block = match input_bytes {
            Some(bytes) if bytes < pool && !needs_bypass => 0,
            _ => align_down((pool / 16 / BYPASS_BLOCKS_MIN).min(BYPASS_BLOCK_BYTES)),
        };
        let bypass_blocks =
            (pool / 16 / BYPASS_BLOCK_BYTES).clamp(BYPASS_BLOCKS_MIN, BYPASS_BLOCKS_MAX);
        let rest = pool - threads as u64 * write_buffer - bypass_blocks * bypass_block;
        // All lines may be empty.
        let with_entries = |text_bytes: u64| text_bytes.saturating_mul(1 + entry_bytes as u64);
        let chunk_max = good_chunk_bytes(input_bytes.map_or(rest, |bytes| bytes.min(rest)));
        let areas = if is_small {
            1
        } else {
            let most = rest.min(input_bytes.map_or(u64::MAX, with_entries));
            let good = most / (CHUNKS_PER_AREA * chunk_max);
            (AREAS_PER_THREAD * threads + MORE_AREAS).max(good as usize)
        };
        // A sort buffer of half an area is enough for lines of at most an entry's size.
        let most = 2 * rest / (2 * areas + threads) as u64;
        let wanted = input_bytes.map_or(u64::MAX, |bytes| {
            let share = bytes / chunks_wanted(threads) + CHUNK_BYTES_MIN;
            let chunk = if is_small { bytes } else { share.min(chunk_max) };
            align_up(with_entries(chunk + 4 * KIB))
        });
        let least = options.checkpoint.as_ref().map_or(0, |_| CHECKPOINT_AREA_BYTES);
        let area = wanted.max(least).min(most).min(Entry::<()>::TEXT_BYTES_MAX as u64);
        let area = align_down(area);
        let sort_buffer = align_down(if is_small { area.min(most / 2) } else { most / 2 });
        let chunk_max = chunk_max.min(sort_buffer.max(CHUNK_BYTES_GOOD));
        Plan {
            threads,
            entry_bytes,
            areas,
            area_bytes: area as usize,
            sort_buffer_bytes: sort_buffer as usize,
            write_buffer_bytes: write_buffer as usize,
            bypass_block_bytes: bypass_block as usize,
            bypass_blocks: bypass_blocks as usize,
            block_bytes: block as usize,
            index_bytes: index,
            chunk_bytes: input_bytes.map(|bytes| {
                let share = bytes.div_ceil(chunks_wanted(threads));
                share.max(CHUNK_BYTES_MIN / 8).min(chunk_max)
            }),
        }
    }

    /// Bytes of text after which a chunk is full even if its area isn't. `bytes_before` bytes were
    /// read before it, and `remaining` are still to be read, if known. The last chunks are smaller,
    /// so that all threads sort until the end.
    pub(super) fn chunk_bytes_after(&self, bytes_before: u64, remaining: Option<u64>) -> usize {
        let of_stream = || {
            let most = good_chunk_bytes(bytes_before);
            (bytes_before / STREAM_SHARE).max(CHUNK_BYTES_MIN).min(most)
        };
        let most = self.sort_buffer_bytes.max(CHUNK_BYTES_GOOD as usize);
        let most = most.min(self.chunk_bytes.unwrap_or_else(of_stream) as usize);
        let share = remaining.map_or(u64::MAX, |bytes| bytes.div_ceil(self.threads as u64));
        most.min(usize::try_from(share).unwrap_or(usize::MAX).max(most / LAST_CHUNKS_SHARE))
    }

    /// Refuses an input whose index would exceed its share of the budget.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] with a sufficient budget.
    pub(super) fn refuse_index(
        &self,
        options: &LinesOptions,
        input_bytes: Option<u64>,
    ) -> Result<(), Error> {
        // An input that fits in memory has no index, and needs no second plan.
        let Some(bytes) = input_bytes.filter(|&bytes| bytes >= self.pool_bytes() as u64) else {
            return Ok(());
        };
        let is_enough = |budget_bytes| {
            let plan = Plan::new(
                &LinesOptions { budget_bytes, ..options.clone() },
                Some(bytes),
                self.entry_bytes,
                self.has_bypass(),
            );
            let usable = usable_bytes(options, budget_bytes);
            index_bytes(Some(bytes), usable, plan.block_bytes as u64) <= plan.index_bytes
        };
        if is_enough(options.budget_bytes) {
            return Ok(());
        }
        let needed_bytes = least_budget(options.budget_bytes, MIB, is_enough).unwrap_or(u64::MAX);
        Err(Error::Memory { budget_bytes: options.budget_bytes, needed_bytes })
    }

    /// True if there are blocks for transfers that bypass the page cache.
    pub(super) fn has_bypass(&self) -> bool {
        self.bypass_block_bytes > 0
    }

    /// Most blocks that the index may have.
    pub(super) fn index_entries_max(&self) -> u64 {
        (self.index_bytes + INDEX_BYTES_BESIDE) / INDEX_ENTRY_BYTES
    }

    /// The plan for a merge of `inputs` sorted inputs, `input_bytes` bytes in all, if known. It has
    /// one area for their blocks.
    pub(super) fn for_merge(
        options: &LinesOptions,
        inputs: usize,
        input_bytes: Option<u64>,
    ) -> Plan {
        let plan = Plan::new(options, None, 0, false);
        let area = plan.areas * plan.area_bytes + plan.threads * plan.sort_buffer_bytes;
        // Blocks are large, so that reading is cheap, but half of the memory is for long lines.
        let block = (area / 2 / sorted_input_blocks(inputs)).max(BLOCK_BYTES_MIN as usize);
        // Small inputs get small blocks, because read-ahead touches the memory of all of them.
        let share = input_bytes.map_or(u64::MAX, |bytes| {
            (bytes / (inputs.max(1) as u64 * MERGED_INPUT_BLOCKS)).max(MERGED_BLOCK_BYTES_MIN)
        });
        let block = block.min(usize::try_from(share).unwrap_or(usize::MAX));
        let block_bytes = (1 << block.ilog2()).min(plan.block_bytes);
        Plan { areas: 1, area_bytes: area, sort_buffer_bytes: 0, block_bytes, ..plan }
    }

    /// Maps the memory. `is_reused` is true if more will be read into it than it holds.
    pub(super) fn map_memory(&self, is_reused: bool) -> Result<LinesMemory, Error> {
        let map = if is_reused { Lease::map } else { Lease::map_huge_if_fast };
        let mut memory = map(self.pool_bytes())?;
        let write_buffers =
            (0..self.threads).map(|_| memory.split_off_front(self.write_buffer_bytes)).collect();
        let sort_buffers =
            (0..self.threads).map(|_| memory.split_off_front(self.sort_buffer_bytes)).collect();
        let areas = (0..self.areas).map(|_| memory.split_off_front(self.area_bytes)).collect();
        let bypass = self.has_bypass().then(|| BlockPool::new([memory], self.bypass_block_bytes));
        Ok(LinesMemory { areas, sort_buffers, write_buffers, bypass })
    }

    /// Returns all shares of the budget: the reserved ones, and those of the sort in the order of
    /// the drawing above.
    pub(super) fn shares(&self, options: &LinesOptions) -> Vec<Share> {
        let of_threads = |bytes: usize| (self.threads * bytes) as u64;
        let context_bytes = options.codec.map_or(0, Codec::context_bytes);
        let blocks_bytes = self.bypass_blocks * self.bypass_block_bytes;
        let reservation = options.reservation.clone();
        reservation
            .with("compressors of scratch", self.threads as u64 * context_bytes)
            .with("write buffers", of_threads(self.write_buffer_bytes))
            .with("sort buffers", of_threads(self.sort_buffer_bytes))
            .with("areas of text", (self.areas * self.area_bytes) as u64)
            .with("input and output blocks", blocks_bytes as u64)
            .with("index of scratch", self.index_bytes)
            .shares(options.budget_bytes)
    }

    /// Bytes of memory that the sort takes, without reserved shares.
    pub fn memory_bytes(&self) -> u64 {
        self.pool_bytes() as u64 + self.index_bytes
    }

    /// Bytes of the pool: all memory that grows with the input, except the index.
    pub(super) fn pool_bytes(&self) -> usize {
        self.threads * (self.write_buffer_bytes + self.sort_buffer_bytes)
            + self.areas * self.area_bytes
            + self.bypass_blocks * self.bypass_block_bytes
    }
}

/// The number of threads and their write memory, which are decided first.
struct Shares {
    threads: usize,
    /// Bytes of the budget, less the heap memory of compression.
    bytes: u64,
    /// Bytes of a write buffer.
    write_buffer: u64,
    /// Bytes of a block on scratch.
    block: u64,
}

impl Shares {
    /// Chooses the number of threads: as many as asked for, if each can have a write buffer of 64
    /// KiB, or 256 KiB for a large input, and the index stays within its share. Fewer threads have
    /// larger write buffers and blocks, which reduce the index.
    fn new(options: &LinesOptions, input_bytes: Option<u64>, is_small: bool) -> Shares {
        let budget = usable_bytes(options, options.budget_bytes);
        let context = options.codec.map_or(0, Codec::context_bytes);
        let is_large = input_bytes.is_some_and(|bytes| bytes / LARGE_INPUT_BUDGETS > budget);
        let thread_bytes = if is_large { THREAD_BYTES_MIN_LARGE } else { THREAD_BYTES_MIN };
        let threads_max = (budget / (thread_bytes + context)).max(1) as usize;
        let mut threads = if is_small { 1 } else { options.threads.clamp(1, threads_max) };
        loop {
            let write_buffer_max = match input_bytes {
                _ if is_small => WRITE_BUFFER_BYTES_SMALL,
                Some(input) if input >= budget => {
                    WRITE_BUFFER_BYTES_MAX.max(WRITE_BUFFERS_BYTES / threads as u64)
                }
                _ => WRITE_BUFFER_BYTES_MAX,
            };
            let bytes = budget.saturating_sub(context * threads as u64).max(BUDGET_BYTES_MIN);
            let write_buffer = align_down((bytes / 8 / threads as u64).min(write_buffer_max));
            let block_max = align_down(write_buffer / WRITE_BUFFER_BLOCKS).min(BLOCK_BYTES_MAX);
            // From the whole budget: at 64 MiB, compression's memory would halve the blocks.
            let mut block = (1 << (budget / 512).max(BLOCK_BYTES_MIN).ilog2()).min(block_max);
            let is_index_large =
                |block| index_bytes(input_bytes, bytes, block) > bytes / INDEX_SHARE;
            while is_index_large(block) && 2 * block <= block_max {
                block *= 2;
            }
            if threads == 1 || !is_index_large(block) {
                return Shares { threads, bytes, write_buffer, block };
            }
            threads /= 2;
        }
    }
}

/// Bytes of a budget that the caller leaves to the sort.
pub(super) fn usable_bytes(options: &LinesOptions, budget_bytes: u64) -> u64 {
    budget_bytes
        .saturating_sub(options.reservation.of(budget_bytes))
        .clamp(BUDGET_BYTES_MIN, BUDGET_BYTES_MAX)
}

/// Number of chunks of an input that isn't large, for `threads` threads.
fn chunks_wanted(threads: usize) -> u64 {
    let least = if threads > 1 { CHUNKS_MIN } else { 1 };
    (CHUNKS_PER_THREAD * threads as u64).max(least)
}

/// Bytes of a chunk's text if `bytes` bytes are merged at once.
fn good_chunk_bytes(bytes: u64) -> u64 {
    (bytes / CHUNKS_GOOD).clamp(CHUNK_BYTES_GOOD, CHUNK_BYTES_MAX)
}

/// Blocks for sorted inputs: more than needed, to allow read-ahead.
pub(super) fn sorted_input_blocks(inputs: usize) -> usize {
    4 * inputs + 64
}

/// Bytes of the budget for an input's index, with blocks of `block_bytes` bytes. For a stream, half
/// of the index's share.
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
    use super::super::reservation::Reservation;
    use super::*;
    use crate::store::compression::Measure;
    use std::path::PathBuf;

    fn options(budget_bytes: u64, threads: usize, codec: Option<Codec>) -> LinesOptions {
        let scratch = vec![PathBuf::from("/scratch")];
        LinesOptions { scratch, codec, ..LinesOptions::new(budget_bytes, threads) }
    }

    /// A drive that answers in batches needs many blocks at once, as long as they needn't be
    /// smaller for it. An input that fits in memory needs no more than before.
    #[test]
    fn much_is_in_flight_of_what_does_not_fit() {
        let plan = |mib: u64, threads, input| {
            Plan::new(&options(mib * MIB, threads, None), input, 16, true)
        };
        let buffer = |plan: &Plan| plan.write_buffer_bytes as u64 / MIB;
        let (large, small) = (Some(1 << 33), Some(1 << 27));
        assert_eq!(buffer(&plan(1024, 2, large)), 8);
        assert_eq!(buffer(&plan(1024, 1, large)), 16);
        assert_eq!(buffer(&plan(8192, 64, large)), 4);
        assert_eq!([buffer(&plan(1024, 2, small)), buffer(&plan(1024, 2, None))], [4, 4]);
        let bypass = |plan: &Plan| (plan.bypass_blocks, plan.bypass_block_bytes as u64);
        assert_eq!(bypass(&plan(1024, 2, large)), (32, MIB));
        assert_eq!(bypass(&plan(256, 2, large)), (16, MIB));
        assert_eq!(bypass(&plan(64, 2, large)), (16, 256 * KIB));
    }

    #[test]
    fn the_index_of_any_input_stays_within_its_share() {
        let refused = refused_indexes(&Reservation::default());
        assert!(refused > 5 && refused < 60, "{refused}");
    }

    /// What was reserved of the smaller budget was taken for what is reserved of the larger one.
    #[test]
    fn a_budget_that_is_named_has_room_for_what_is_reserved_of_it() {
        for share in [4, 8] {
            let reserved = move |budget: u64| (budget / share).saturating_sub(8 * MIB);
            assert!(refused_indexes(&Reservation::default().with_share("reserved", reserved)) > 5);
        }
    }

    /// How many inputs are refused because of their index, which all others have room for, and
    /// these in the budget that is named.
    fn refused_indexes(reservation: &Reservation) -> u32 {
        let mut refused = 0;
        for budget_mib in [1, 2, 5, 64, 256, 1024, 16 << 10] {
            for threads in [1, 2, 64] {
                for input_bytes in [1 << 30, 5 << 30, 100 << 30, 10 << 40] {
                    let of = |budget_bytes| {
                        let options = LinesOptions {
                            reservation: reservation.clone(),
                            ..options(budget_bytes, threads, None)
                        };
                        let plan = Plan::new(&options, Some(input_bytes), 24, false);
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
        refused
    }

    #[test]
    fn the_last_chunks_are_smaller() {
        let plan =
            |threads| Plan::new(&options(1024 * MIB, threads, None), Some(100 * MIB), 24, false);
        let after = |plan: &Plan, remaining| plan.chunk_bytes_after(0, remaining) as u64;
        for (threads, chunk) in [(1, 25 * MIB / 2), (2, (25 * MIB).div_ceil(7)), (4, 25 * MIB / 8)]
        {
            let plan = plan(threads);
            assert_eq!(after(&plan, None), chunk);
            assert_eq!(after(&plan, Some(100 * MIB)), chunk);
            assert_eq!(after(&plan, Some(4 * MIB)), 4 * MIB / threads as u64);
            assert_eq!(after(&plan, Some(1)), chunk / 4);
        }
    }

    #[test]
    fn much_text_in_little_memory_has_fewer_threads() {
        let threads = |budget_mib, input_mib: Option<u64>| {
            let options = options(budget_mib * MIB, 64, None);
            Plan::new(&options, input_mib.map(|mib| mib * MIB), 24, false).threads
        };
        for (budget_mib, of_little, of_much) in [(2, 4, 1), (4, 8, 2), (64, 64, 32), (256, 64, 64)]
        {
            assert_eq!(threads(budget_mib, Some(10 * budget_mib)), of_little);
            assert_eq!(threads(budget_mib, Some(20 * budget_mib)), of_much);
        }
        assert_eq!(threads(2, None), 4);
    }

    /// Half a write buffer must have a block to fill and one to compress it into: with fewer, a
    /// spill would wait for itself.
    #[test]
    fn every_budget_has_a_plan_that_can_spill() {
        let auto = Codec::Auto(Measure::Clocks);
        for codec in [None, Some(Codec::Lz4), Some(Codec::Zstd), Some(auto)] {
            for budget_mib in [0, 1, 2, 3, 5, 16, 33, 64, 65, 1024, 1 << 20, 1 << 43] {
                for threads in [1, 2, 3, 5, 8, 60, 64, 1000] {
                    for input_bytes in
                        [None, Some(0), Some(1), Some(500_000), Some(600_000), Some(1 << 40)]
                    {
                        let options = options(budget_mib * MIB, threads, codec);
                        let plan = Plan::new(&options, input_bytes, 24, false);
                        let half_buffer = align_down(plan.write_buffer_bytes as u64 / 2);
                        assert!(
                            plan.block_bytes >= BLOCK_BYTES_MIN as usize,
                            "{options:?} {plan:?}"
                        );
                        assert!(
                            half_buffer as usize >= 2 * plan.block_bytes,
                            "{options:?} {plan:?}"
                        );
                        let contexts = codec.map_or(0, Codec::context_bytes) * plan.threads as u64;
                        let most = options.budget_bytes.max(BUDGET_BYTES_MIN + contexts);
                        let taken = plan.pool_bytes() as u64 + plan.index_bytes + contexts;
                        assert!(taken <= most, "{options:?} {plan:?}");
                        assert!(
                            plan.sort_buffer_bytes > 0 && plan.area_bytes > 2 * 24,
                            "{options:?} {plan:?}"
                        );
                    }
                }
            }
        }
    }
}
