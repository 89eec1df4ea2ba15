//! The memory of a merge: blocks for lines, larger blocks for longer lines, and blocks for
//! compressed data from scratch.
//!
//! ```text
//! | long | long | ...          as large as the longest block of any run
//! | short | short | ...        as large as all other blocks on scratch
//! | compressed | ...           as large as short ones; decompressed into one of the others
//! ```
//!
//! So a few long lines take a few large blocks, not one for each run.
//!
//! A merge can't stall as long as each run finds memory for its current block. Besides these, the
//! line of the last cut may hold one block of each size. [`Reader`](super::reader::Reader) leaves
//! that many free.

use super::super::areas::Areas;
use super::super::block::SpilledBlock;
use super::super::line_limits::{
    LONG_INPUTS_MAX, ample_working_blocks, least_working_blocks, long_block_bytes,
};
use super::super::plan::Plan;
use super::super::run::Run;
use crate::Error;
use std::sync::Arc;
use xsort_disk::{BlockPool, Lease, align_up};

/// Blocks of a sorted input: one that is merged, and one with the beginning of the next line.
pub(crate) const SORTED_INPUT_BLOCKS: usize = 2;
/// Most blocks of a sorted input that are held, where there is memory: some are checked while
/// others are merged.
pub(crate) const SORTED_INPUT_BLOCKS_MAX: usize = 8;
/// Share of the short blocks for compressed data, as a divisor. At least two blocks are.
const COMPRESSED_SHARE: usize = 8;

/// The two sizes of blocks in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockSize {
    Short,
    Long,
}

/// The blocks that a merge needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    short: usize,
    short_bytes: usize,
    long: usize,
    long_bytes: usize,
    compressed: usize,
    /// The share of the memory for long blocks if there is more than needed.
    long_share: f64,
}

impl Need {
    /// The least that a merge of `runs` can work with.
    pub(crate) fn least(runs: &[Run], plan: &Plan) -> Need {
        Need::new(runs, plan, least_working_blocks(plan))
    }

    /// The blocks that keep a merge of `runs` busy.
    pub(crate) fn ample(runs: &[Run], plan: &Plan) -> Need {
        Need::new(runs, plan, ample_working_blocks(plan))
    }

    fn new(runs: &[Run], plan: &Plan, working_blocks: usize) -> Need {
        let block_bytes = plan.block_bytes;
        let mut need = Need {
            short: 1 + working_blocks,
            short_bytes: block_bytes,
            long: 0,
            long_bytes: 0,
            compressed: 0,
            long_share: 0.0,
        };
        let (mut bytes, mut long_bytes, mut is_compressed) = (0, 0, false);
        for run in runs {
            let sizes = run.blocks().iter().map(|block| block.bytes);
            let long = sizes.clone().filter(|&bytes| bytes > block_bytes as u64);
            bytes += sizes.sum::<u64>();
            long_bytes += long.clone().sum::<u64>();
            need.long_bytes =
                need.long_bytes.max(align_up(long.clone().max().unwrap_or(0)) as usize);
            need.long += usize::from(long.count() > 0);
            is_compressed |= run.blocks().iter().any(SpilledBlock::is_compressed);
            need.short += match run {
                Run::InMemory(_) => 0,
                Run::OnScratch(_) => 1,
                // As many again are for long lines.
                Run::Sorted(_) => 2 * SORTED_INPUT_BLOCKS,
            };
        }
        if runs.iter().all(Run::is_in_memory) {
            need.short = 0;
        }
        need.long += usize::from(need.long > 0);
        need.long_share = long_bytes as f64 / (bytes as f64).max(1.0);
        if is_compressed {
            need.compressed = 2;
        }
        need
    }

    /// True if leases of these sizes in bytes are enough.
    pub(crate) fn is_met(&self, leases: impl Iterator<Item = usize>) -> bool {
        let (mut short, mut long) = (0, 0);
        for bytes in leases {
            let own = (self.long - long).min(bytes.checked_div(self.long_bytes).unwrap_or(0));
            long += own;
            short += (bytes - own * self.long_bytes) / self.short_bytes;
        }
        long == self.long && short >= self.short + self.compressed
    }
}

/// Most runs that can be merged at once, at least two. Assumes that any of them may have long
/// blocks.
pub(crate) fn fan_in_max(runs: &[Run], plan: &Plan, memory: &Areas) -> usize {
    let all = Need::least(runs, plan);
    let one = runs
        .iter()
        .map(|run| Need::least(std::slice::from_ref(run), plan).short)
        .max()
        .unwrap_or(0);
    // The blocks beyond those of the runs. A run in memory needs no block.
    let none = 1 + least_working_blocks(plan);
    let of = |count: usize| Need {
        short: none + count * one.saturating_sub(none),
        long: all.long.min(count + 1),
        ..all
    };
    let is_met = |count: &usize| of(*count).is_met(memory.sizes());
    let counts: Vec<usize> = (2..=runs.len()).collect();
    counts.partition_point(is_met).max(1) + 1
}

/// The memory of one merge.
pub(crate) struct MergeMemory {
    short: Arc<BlockPool>,
    long: Arc<BlockPool>,
    pub(crate) compressed: Arc<BlockPool>,
    rest: Vec<Lease>,
}

impl MergeMemory {
    /// Divides the memory for a merge of `runs`.
    ///
    /// # Errors
    ///
    /// If it is too little, because an input grew while it was read and the plan was for fewer
    /// bytes.
    pub(crate) fn new(areas: Areas, runs: &[Run], plan: &Plan) -> Result<MergeMemory, Error> {
        let need = choose_need(&areas, runs, plan);
        if !need.is_met(areas.sizes()) {
            let what = "an input has grown, and the memory that was planned for it is too little";
            return Err(Error::Settings(format!("{what}: try again")));
        }
        let mut leases = areas.into_leases();
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for lease in &mut leases {
            while long.len() < need.long && lease.len() >= need.long_bytes {
                long.push(lease.split_off_front(need.long_bytes));
            }
            while lease.len() >= plan.block_bytes {
                short.push(lease.split_off_front(plan.block_bytes));
            }
        }
        let rest = leases.into_iter().filter(|lease| !lease.is_empty()).collect();
        let surplus = short.len().saturating_sub(need.short);
        let compressed = if need.compressed > 0 {
            need.compressed.max(short.len() / COMPRESSED_SHARE).min(surplus)
        } else {
            0
        };
        let compressed = short.split_off(short.len() - compressed);
        Ok(MergeMemory {
            short: BlockPool::new(short, plan.block_bytes),
            long: BlockPool::new(long, need.long_bytes.max(xsort_disk::ALIGNMENT)),
            compressed: BlockPool::new(compressed, plan.block_bytes),
            rest,
        })
    }

    /// The blocks of a size.
    pub(crate) fn of(&self, size: BlockSize) -> &Arc<BlockPool> {
        match size {
            BlockSize::Short => &self.short,
            BlockSize::Long => &self.long,
        }
    }

    /// Takes the memory back. All blocks must have been returned.
    pub(crate) fn into_areas(self) -> Areas {
        let pools = [self.short, self.long, self.compressed];
        let leases = pools.into_iter().flat_map(BlockPool::dissolve);
        Areas::new(leases.chain(self.rest).collect())
    }
}

/// Chooses how to divide the memory. Beyond the least, long blocks get the share of memory that
/// long lines have of the data. Long blocks of sorted inputs, whose lines are still unknown, get
/// all that short ones leave.
fn choose_need(areas: &Areas, runs: &[Run], plan: &Plan) -> Need {
    let least = Need::least(runs, plan);
    let mut need = least;
    let bytes: usize = areas.sizes().sum();
    let inputs = runs.iter().filter(|run| run.is_sorted_input()).count();
    if inputs > 0 {
        need.short -= inputs * SORTED_INPUT_BLOCKS;
        need.long += inputs.min(LONG_INPUTS_MAX) + usize::from(need.long == 0);
        need.long_bytes = need.long_bytes.max(long_block_bytes(plan, inputs, bytes));
        if need.long_bytes <= plan.block_bytes {
            need.long = least.long;
            need.long_bytes = least.long_bytes;
        }
    } else if need.long > 0 {
        let wanted = (bytes as f64 * need.long_share) as usize / need.long_bytes;
        need.long = need.long.max(wanted);
    }
    while need.long > least.long && !need.is_met(areas.sizes()) {
        need.long -= 1;
    }
    if need.is_met(areas.sizes()) { need } else { least }
}

#[cfg(test)]
mod tests {
    use super::super::super::options::LinesOptions;
    use super::*;
    use crate::store::scratch::BlockAddress;

    fn run_on_scratch(bytes: u64) -> Run {
        Run::OnScratch(vec![SpilledBlock {
            address: BlockAddress::NOT_ON_SCRATCH,
            bytes,
            codec: None,
            compressed_bytes: 0,
            lines: 1,
            last_line: 0,
            checksum: 0,
            first_key: Default::default(),
        }])
    }

    /// A merge needs a block for each of its runs. Earlier, each run counted as all that a merge of
    /// one needs, and passes read a sixth of the runs that there was memory for.
    #[test]
    fn a_merge_reads_as_many_runs_as_there_are_blocks() {
        let options = LinesOptions::new(2 << 20, 2);
        let plan = Plan::new(&options, None, 24, false);
        let memory = Areas::new(vec![Lease::map(100 * plan.block_bytes).unwrap()]);
        let runs: Vec<Run> = (0..300).map(|_| run_on_scratch(1000)).collect();
        let most = fan_in_max(&runs, &plan, &memory);
        assert_eq!(most, 99 - least_working_blocks(&plan));
        assert!(Need::least(&runs[..most], &plan).is_met(memory.sizes()));
        assert!(!Need::least(&runs[..=most], &plan).is_met(memory.sizes()));
    }
}
