//! The memory of a merge: blocks for lines, larger ones for lines that are longer than those, and
//! some for what comes compressed.
//!
//! ```text
//! | long | long | ...   as large as the longest block of the runs: one for each run that has long ones, and one
//! | short | short | ... as large as any other block
//! | packed | ...        of the same size, on the way from scratch into one of the others
//! ```
//!
//! So a few long lines take a few large blocks, and not as many large ones as there are runs.
//!
//! A merge can't come to a standstill if each run finds memory for the block in which it stands.
//! Beyond that, one block of a size may be held by the last cut. [`Reader`](super::read::Reader)
//! leaves as many.

use super::areas::Areas;
use super::plan::Plan;
use super::run::{Block, Run};
use crate::Error;
use std::sync::Arc;
use xsort_disk::{BlockPool, Lease, align_up};

/// Sorted sources that may have long lines at the same time: the more, the shorter these must be.
const LONG_SOURCES: usize = 4;
/// Blocks of a sorted source: one that is merged, and one with the beginning of the line behind it.
pub(super) const SOURCE_BLOCKS: usize = 2;
/// One of so many short blocks is for what comes compressed, and at least two.
const PACKED_SHARE: usize = 8;
/// Blocks beside one for each run that a merge needs to do well.
const WORKING_BLOCKS: usize = 16;

/// The two sizes of blocks in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Short,
    Long,
}

/// What a merge needs of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    short: usize,
    short_bytes: usize,
    long: usize,
    long_bytes: usize,
    packed: usize,
    /// What of the memory should go to long blocks, if there is more than is needed.
    long_share: f64,
}

impl Need {
    /// Of a merge of `runs`: what it can't do without, or with `is_ample` what it does well with.
    pub(super) fn of(runs: &[Run], plan: &Plan, is_ample: bool) -> Need {
        let block_bytes = plan.block_bytes;
        let mut need = Need {
            short: 1 + if is_ample {
                2 * plan.threads + WORKING_BLOCKS
            } else {
                least_working(plan)
            },
            short_bytes: block_bytes,
            long: 0,
            long_bytes: 0,
            packed: 0,
            long_share: 0.0,
        };
        let (mut bytes, mut long_bytes, mut is_packed) = (0, 0, false);
        for run in runs {
            let sizes = run.blocks().iter().map(|block| block.bytes);
            let long = sizes.clone().filter(|&bytes| bytes > block_bytes as u64);
            bytes += sizes.sum::<u64>();
            long_bytes += long.clone().sum::<u64>();
            need.long_bytes =
                need.long_bytes.max(align_up(long.clone().max().unwrap_or(0)) as usize);
            need.long += usize::from(long.count() > 0);
            is_packed |= run.blocks().iter().any(Block::is_packed);
            need.short += match run {
                Run::InMemory(_) => 0,
                Run::OnScratch(_) => 1,
                // As much again is for long lines.
                Run::Sorted(_) => 2 * SOURCE_BLOCKS,
            };
        }
        if runs.iter().all(|run| matches!(run, Run::InMemory(_))) {
            need.short = 0;
        }
        need.long += usize::from(need.long > 0);
        need.long_share = long_bytes as f64 / (bytes as f64).max(1.0);
        if is_packed {
            need.packed = 2;
        }
        need
    }

    /// Whether leases of so many bytes are enough.
    pub(super) fn is_met(&self, leases: impl Iterator<Item = usize>) -> bool {
        let (mut short, mut long) = (0, 0);
        for bytes in leases {
            let own = (self.long - long).min(bytes.checked_div(self.long_bytes).unwrap_or(0));
            long += own;
            short += (bytes - own * self.long_bytes) / self.short_bytes;
        }
        long == self.long && short >= self.short + self.packed
    }
}

/// Blocks beside one for each run without which a merge can't be.
fn least_working(plan: &Plan) -> usize {
    plan.threads + 2
}

/// How many runs can be merged at once, at least two. Which of them have long blocks isn't asked:
/// as many as there are might.
pub(super) fn fan_in_max(runs: &[Run], plan: &Plan, memory: &Areas) -> usize {
    let all = Need::of(runs, plan, false);
    let one = runs
        .iter()
        .map(|run| Need::of(std::slice::from_ref(run), plan, false).short)
        .max()
        .unwrap_or(0);
    let none = Need::of(&[], plan, false).short;
    let of = |count: usize| Need {
        short: none + count * (one - none),
        long: all.long.min(count + 1),
        ..all
    };
    let is_met = |count: &usize| of(*count).is_met(memory.sizes());
    let counts: Vec<usize> = (2..=runs.len()).collect();
    counts.partition_point(is_met).max(1) + 1
}

/// The longest line, its delimiter included, that so much memory allows a merge of two runs to have
/// in both.
pub(super) fn line_bytes_max(plan: &Plan, memory_bytes: usize) -> usize {
    let short = 2 + 1 + least_working(plan) + 2;
    let long = 2 + 1;
    xsort_disk::align_down((memory_bytes.saturating_sub(short * plan.block_bytes) / long) as u64)
        as usize
}

/// The same for a merge of sorted sources.
pub(super) fn source_line_bytes_max(plan: &Plan, sources: usize, memory_bytes: usize) -> usize {
    let rest = memory_bytes - (source_blocks(sources) * plan.block_bytes).min(memory_bytes / 2);
    xsort_disk::align_down((rest / (sources.min(LONG_SOURCES) + 1)) as u64) as usize
}

/// Short blocks for sorted sources: more than needed, so that there is something to read ahead.
pub(super) fn source_blocks(sources: usize) -> usize {
    4 * sources + 64
}

/// The memory of one merge.
pub(super) struct Shelves {
    short: Arc<BlockPool>,
    long: Arc<BlockPool>,
    pub(super) packed: Arc<BlockPool>,
    rest: Vec<Lease>,
}

impl Shelves {
    /// Divides the memory for a merge of `runs`.
    ///
    /// # Errors
    /// If it isn't enough for what can't be done without, because an input grew while it was read,
    /// into a plan for few bytes.
    pub(super) fn new(memory: Areas, runs: &[Run], plan: &Plan) -> Result<Shelves, Error> {
        let least = Need::of(runs, plan, false);
        let mut need = least;
        let bytes: usize = memory.sizes().sum();
        let sources = runs.iter().filter(|run| matches!(run, Run::Sorted(_))).count();
        if sources > 0 {
            // Nobody knows their lines: room for long ones costs nothing until they come.
            need.short -= sources * SOURCE_BLOCKS;
            need.long += sources.min(LONG_SOURCES) + usize::from(need.long == 0);
            need.long_bytes = need.long_bytes.max(source_line_bytes_max(plan, sources, bytes));
            if need.long_bytes <= plan.block_bytes {
                need.long = least.long;
                need.long_bytes = least.long_bytes;
            }
        } else if need.long > 0 {
            let wanted = (bytes as f64 * need.long_share) as usize / need.long_bytes;
            need.long = need.long.max(wanted);
        }
        while need.long > least.long && !need.is_met(memory.sizes()) {
            need.long -= 1;
        }
        if !need.is_met(memory.sizes()) {
            need = least;
        }
        if !need.is_met(memory.sizes()) {
            let what = "an input has grown, and the memory that was planned for it is too little";
            return Err(Error::Settings(format!("{what}: try again")));
        }
        let mut leases = memory.into_leases();
        let (mut short, mut long, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for lease in &mut leases {
            while long.len() < need.long && lease.len() >= need.long_bytes {
                long.push(lease.split_off_front(need.long_bytes));
            }
            while lease.len() >= plan.block_bytes {
                short.push(lease.split_off_front(plan.block_bytes));
            }
        }
        rest.extend(leases.into_iter().filter(|lease| !lease.is_empty()));
        let spare = short.len().saturating_sub(need.short);
        let packed = if need.packed > 0 {
            need.packed.max(short.len() / PACKED_SHARE).min(spare)
        } else {
            0
        };
        let packed = short.split_off(short.len() - packed);
        Ok(Shelves {
            short: BlockPool::new(short, plan.block_bytes),
            long: BlockPool::new(long, need.long_bytes.max(xsort_disk::ALIGNMENT)),
            packed: BlockPool::new(packed, plan.block_bytes),
            rest,
        })
    }

    pub(super) fn of(&self, size: Size) -> &Arc<BlockPool> {
        match size {
            Size::Short => &self.short,
            Size::Long => &self.long,
        }
    }

    /// The memory again. All blocks must have come back.
    pub(super) fn dissolve(self) -> Areas {
        let block_pools = [self.short, self.long, self.packed];
        let leases = block_pools.into_iter().flat_map(BlockPool::dissolve);
        Areas::new(leases.chain(self.rest).collect())
    }
}
