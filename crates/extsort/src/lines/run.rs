//! A sorted run of lines, in memory, on scratch or in an input.

use super::block::SpilledBlock;
use super::chunk::Chunk;
use super::input::SortedInput;
use parking_lot::Mutex;

/// A sorted run. Runs are numbered in the order of the input, and equal lines keep that order.
pub(super) enum Run {
    InMemory(Chunk),
    OnScratch(Vec<SpilledBlock>),
    /// An input whose lines are already in order.
    Sorted(Box<Mutex<SortedInput>>),
}

impl Run {
    /// Number of its lines; for a sorted input, the number read so far.
    pub(super) fn lines(&self) -> u64 {
        match self {
            Run::InMemory(chunk) => chunk.sorted_lines() as u64,
            Run::OnScratch(blocks) => blocks.iter().map(|block| u64::from(block.lines)).sum(),
            Run::Sorted(input) => input.lock().lines(),
        }
    }

    /// Its blocks on scratch; empty for other runs.
    pub(super) fn blocks(&self) -> &[SpilledBlock] {
        match self {
            Run::OnScratch(blocks) => blocks,
            Run::InMemory(_) | Run::Sorted(_) => &[],
        }
    }

    /// The chunk, if the run is in memory.
    pub(super) fn chunk(&self) -> Option<&Chunk> {
        match self {
            Run::InMemory(chunk) => Some(chunk),
            Run::OnScratch(_) | Run::Sorted(_) => None,
        }
    }

    /// True if the run is in memory, so that a merge needs no blocks for it.
    pub(super) fn is_in_memory(&self) -> bool {
        self.chunk().is_some()
    }

    /// True if the run is a sorted input.
    pub(super) fn is_sorted_input(&self) -> bool {
        matches!(self, Run::Sorted(_))
    }
}
