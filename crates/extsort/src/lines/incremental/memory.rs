//! How the budget of an incremental sort is divided.
//!
//! ```text
//!  | blocks that are read | lines that wait | lines that leave | the sort of these |
//!        1 to 3 of 64             8 of 64           8 of 64               the rest
//! ```

use super::super::options::LinesOptions;
use super::super::plan::usable_bytes;
use super::arrivals::BLOCKS_MAX;
use crate::job::least_budget::least_budget;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Share of the budget for lines that wait, as a divisor. Those that leave have another.
const WINDOW_SHARE: u64 = 8;
/// Share of the budget for a block, as a divisor, and its bounds in bytes.
const BLOCK_SHARE: u64 = 128;
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 16 * KIB..=256 * KIB;
/// Lines are collected up to this many bytes, unless more have to wait.
const COLLECTED_BYTES: u64 = 32 * MIB;

/// The shares of a budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct IncrementalMemory {
    /// Bytes of a block.
    pub(super) block_bytes: usize,
    /// Bytes of the lines that are collected at first, with what is known of each.
    pub(super) collected_bytes: usize,
    /// Most bytes of the lines that wait.
    pub(super) window_bytes: usize,
}

impl IncrementalMemory {
    /// Divides a budget of `budget_bytes` bytes.
    pub(super) fn new(options: &LinesOptions, budget_bytes: u64) -> IncrementalMemory {
        let usable = usable_bytes(options, budget_bytes);
        let window = usable / WINDOW_SHARE;
        let block = (usable / BLOCK_SHARE).clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end());
        IncrementalMemory {
            block_bytes: block as usize,
            collected_bytes: window.min(COLLECTED_BYTES) as usize,
            window_bytes: window as usize,
        }
    }

    /// The settings of the sorts of what leaves.
    pub(super) fn of_batches(options: &LinesOptions) -> LinesOptions {
        let own = options.clone();
        let taken = move |budget| {
            let memory = IncrementalMemory::new(&own, budget);
            2 * memory.window_bytes as u64 + BLOCKS_MAX * memory.block_bytes as u64
        };
        LinesOptions {
            reservation: options.reservation.clone().with_share("lines that wait", taken),
            output_file: None,
            checkpoint: None,
            ..options.clone()
        }
    }

    /// Most bytes of lines that may stay, so that a quarter of the memory is free for others.
    pub(super) fn kept_bytes_max(&self) -> usize {
        self.window_bytes / 4 * 3
    }

    /// The least budget in bytes with which lines of `bytes` bytes in all may wait; `None` if no
    /// budget is enough.
    pub(super) fn budget_for(options: &LinesOptions, bytes: u64) -> Option<u64> {
        let is_enough = |budget| {
            let memory = IncrementalMemory::new(options, budget);
            memory.kept_bytes_max() as u64 >= bytes + memory.block_bytes as u64
        };
        least_budget(options.budget_bytes, MIB, is_enough)
    }
}
