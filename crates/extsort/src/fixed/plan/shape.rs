//! What is known before a sort, and the plan that follows from it.

use crate::Codec;
use crate::fixed::options::Method;
use serde::{Deserialize, Serialize};
use xsort_disk::align_up;

/// Bytes that a pool may have beside four times the input, and once more for each thread.
const POOL_BYTES_BESIDE: u64 = 1 << 30;
const THREAD_BYTES_BESIDE: u64 = 16 << 20;

/// What the planner knows.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Size of each input in bytes; multiples of `record_bytes`.
    pub input_bytes: Vec<u64>,
    /// Size of a record in bytes.
    pub record_bytes: u64,
    /// Size of a normalised key in bytes.
    pub key_bytes: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Threads wanted.
    pub threads: usize,
    /// The method to plan for.
    pub method: Method,
    /// How blocks of runs are compressed on scratch, if at all.
    pub codec: Option<Codec>,
    /// Whether chunks may stay in memory. If not, all go to scratch, so that no record is only in
    /// memory once the inputs are read.
    pub may_keep: bool,
    /// Whether scratch may be in the output's own file: that is on the drive that scratch is to be
    /// on, and the sort can't be resumed.
    pub in_place: bool,
}

impl Facts {
    /// Most bytes for the pool: with more of them the system may refuse to map what no sort of this
    /// input would touch.
    pub(super) fn pool_bytes_max(&self) -> u64 {
        let input_bytes: u64 = self.input_bytes.iter().sum();
        let beside_bytes = POOL_BYTES_BESIDE + self.threads as u64 * THREAD_BYTES_BESIDE;
        input_bytes.saturating_mul(4).saturating_add(beside_bytes)
    }
}

/// The shape of a sort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The method, and what only this method has.
    #[serde(flatten)]
    pub shape: Shape,
    /// Records to sort.
    pub records: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Size of one in bytes.
    pub record_bytes: u64,
    /// Size of a normalised key in bytes.
    pub key_bytes: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Threads used: fewer than wanted if the budget is too small to feed them.
    pub threads: usize,
    /// Bytes mapped for the pool; with `index_bytes` and `compression_bytes` at most the budget.
    pub pool_bytes: u64,
    /// Bytes set aside for the index of what is on scratch.
    pub index_bytes: u64,
    /// Bytes in which threads compress and decompress blocks; 0 if none is compressed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compression_bytes: u64,
    /// Most record bytes in one chunk of the input.
    pub chunk_bytes: u64,
    /// Most extents in one chunk.
    pub extents_max: usize,
    /// Chunks of the input.
    pub chunks: usize,
    /// Chunks, from the first on, that go to scratch; the others stay in memory.
    pub spilled_chunks: usize,
    /// Chunks that are in memory at once while the input is read.
    pub areas: usize,
    /// Bytes of one area: the chunk, slack for alignment, and the order of its records, unless they
    /// are moved to it.
    pub area_bytes: u64,
    /// Bytes of the sort buffer that each thread has besides the chunk that it sorts; with the
    /// order of its records, if they are moved to it.
    #[serde(rename = "spare_bytes")]
    pub sort_buffer_bytes: u64,
    /// Size of a block on scratch in bytes.
    pub block_bytes: u64,
    /// Bytes that are written to scratch at once while the input is read: a block, or several.
    pub spill_block_bytes: u64,
    /// So many writes are filled or under way at once.
    pub spill_blocks: usize,
    /// Size of a block of the output in bytes.
    pub output_block_bytes: u64,
    /// Blocks for writing the output.
    pub output_blocks: usize,
    /// Pages for the seams of the output.
    pub seam_pages: usize,
    /// Most bytes of scratch in use at any time.
    pub scratch_bytes: u64,
    /// Bytes read from inputs and scratch in all.
    pub read_bytes: u64,
    /// Bytes written to scratch and output in all.
    pub write_bytes: u64,
}

/// The method of a sort, and the part of its plan that only this method has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Shape {
    /// Runs, each of them a sorted chunk, and a merge of them.
    Merge(MergeShape),
    /// Bins, each of them a range of keys, and each sorted by itself.
    Scatter(ScatterShape),
}

/// What only runs and merge have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeShape {
    /// Whether the records of chunks are moved to their order as soon as it is known: all chunks
    /// stay in memory then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_arranged: bool,
    /// Most runs that one merge takes.
    pub fan_in_max: usize,
    /// Merges over the whole data, the last one included; 0 if there is nothing to sort.
    pub merge_passes: usize,
    /// Blocks between two cuts of the merge.
    pub segment_blocks: usize,
    /// Blocks for reading runs in the last merge, at least.
    pub read_blocks: usize,
}

/// What only scatter and gather have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScatterShape {
    /// Bins that are aimed at, after the last level.
    pub bins: usize,
    /// Record bytes of a bin that are aimed at.
    pub bin_bytes: u64,
    /// Scatters that a record goes through, if the keys are as the sample says.
    pub levels: usize,
    /// Areas to load bins into.
    pub gather_areas: usize,
    /// Whether bins are in the output's own file, each near the place of its records in the output,
    /// which overwrites them. The file has `scratch_bytes` bytes more than the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Plan {
    /// Bytes of the budget that are in use.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.pool_bytes + self.index_bytes + self.compression_bytes
    }

    /// The phases of a sort by this plan, as far as they are known in advance, each with the bytes
    /// that it processes.
    pub(crate) fn phases(&self) -> Vec<(&'static str, u64)> {
        let (first, again, times, last) = match &self.shape {
            Shape::Merge(shape) => ("form runs", "reduce", shape.merge_passes, "merge"),
            Shape::Scatter(shape) => ("scatter", "split", shape.levels, "gather"),
        };
        let between = self.bytes * times.saturating_sub(1) as u64;
        let phases = [(first, self.bytes), (again, between), (last, self.bytes)];
        phases.into_iter().filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// Whether scratch is in the output's own file.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(&self.shape, Shape::Scatter(shape) if shape.in_place)
    }

    /// Bytes of the output's file while it is written.
    pub(crate) fn output_file_bytes(&self) -> u64 {
        align_up(self.bytes + if self.is_in_place() { self.scratch_bytes } else { 0 })
    }

    /// Chunks that stay in memory.
    pub fn resident_chunks(&self) -> usize {
        self.chunks - self.spilled_chunks
    }

    /// Whether anything can go to scratch: by the plan, or because a bin turns out too large for
    /// its area.
    pub(crate) fn may_spill(&self) -> bool {
        self.spilled_chunks > 0 || matches!(self.shape, Shape::Scatter(_)) && self.chunks > 1
    }
}
