//! The facts known before a sort, and the plan computed from them.

use crate::Codec;
use crate::records::options::Method;
use serde::{Deserialize, Serialize};
use xsort_disk::align_up;

/// The pool may have four times the input's size, this number of bytes, and [`THREAD_BYTES_BESIDE`]
/// for each thread.
const POOL_BYTES_BESIDE: u64 = 1 << 30;
const THREAD_BYTES_BESIDE: u64 = 16 << 20;

/// The planner's input.
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
    /// Number of threads requested.
    pub threads: usize,
    /// The method to plan for.
    pub method: Method,
    /// The codec for the blocks of runs on scratch, if any.
    pub codec: Option<Codec>,
    /// True if chunks may stay in memory. Otherwise all are spilled, so that no record is only in
    /// memory once the inputs have been read.
    pub may_keep: bool,
    /// True if scratch may be in the output's own file: the file is on the scratch drive, and the
    /// sort can't be resumed.
    pub in_place: bool,
}

impl Facts {
    /// Maximum size of the pool in bytes. The kernel may refuse to map more, which no sort of this
    /// input would touch.
    pub(super) fn pool_bytes_max(&self) -> u64 {
        let input_bytes: u64 = self.input_bytes.iter().sum();
        let beside_bytes = POOL_BYTES_BESIDE + self.threads as u64 * THREAD_BYTES_BESIDE;
        input_bytes.saturating_mul(4).saturating_add(beside_bytes)
    }
}

/// The plan of a sort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The method, and the method's own part of the plan.
    #[serde(flatten)]
    pub shape: Shape,
    /// Number of records.
    pub records: u64,
    /// Size of all records in bytes.
    pub bytes: u64,
    /// Size of one record in bytes.
    pub record_bytes: u64,
    /// Size of a normalised key in bytes.
    pub key_bytes: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Threads used: fewer than requested if the budget is too small for them.
    pub threads: usize,
    /// Bytes mapped for the pool. The sum with `index_bytes` and `compression_bytes` is at most the
    /// budget.
    pub pool_bytes: u64,
    /// Bytes reserved for the index of scratch.
    pub index_bytes: u64,
    /// Bytes with which threads compress and decompress blocks; 0 without compression.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compression_bytes: u64,
    /// Maximum bytes of records in one chunk.
    pub chunk_bytes: u64,
    /// Maximum number of extents in one chunk.
    pub extents_max: usize,
    /// Number of chunks of the input.
    pub chunks: usize,
    /// Number of chunks, from the first on, that are spilled. The others stay in memory.
    pub spilled_chunks: usize,
    /// Number of chunks in memory at once while the input is read.
    pub areas: usize,
    /// Size of an area in bytes: the chunk, slack for alignment, and the order of its records,
    /// unless they are moved into order.
    pub area_bytes: u64,
    /// Size of each thread's sort buffer in bytes. It includes the order of the records if they are
    /// moved into order.
    #[serde(rename = "spare_bytes")]
    pub sort_buffer_bytes: u64,
    /// Size of a block on scratch in bytes.
    pub block_bytes: u64,
    /// Bytes of a write to scratch while the input is read: one block or several.
    pub spill_block_bytes: u64,
    /// Number of write buffers for scratch, which are being filled or written.
    pub spill_blocks: usize,
    /// Size of a block of the output in bytes.
    pub output_block_bytes: u64,
    /// Number of blocks for writing the output.
    pub output_blocks: usize,
    /// Number of pages for the seams of the output.
    pub seam_pages: usize,
    /// Maximum bytes of scratch in use at any time.
    pub scratch_bytes: u64,
    /// Total bytes read from inputs and scratch.
    pub read_bytes: u64,
    /// Total bytes written to scratch and output.
    pub write_bytes: u64,
}

/// The method of a sort, and the method's own part of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Shape {
    /// Runs, each of them a sorted chunk, and a merge of them.
    Merge(MergeShape),
    /// A merge of inputs that are in order, each of which is a run.
    MergeInputs(MergeShape),
    /// Bins, each with the records of a range of keys, and each sorted on its own.
    Scatter(ScatterShape),
}

/// The plan of runs and merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeShape {
    /// True if the records of each chunk are moved into order as soon as it is sorted. All chunks
    /// then stay in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_arranged: bool,
    /// Maximum number of runs in one merge.
    pub fan_in_max: usize,
    /// Number of merges over the whole data, including the last one; 0 if there is nothing to sort.
    pub merge_passes: usize,
    /// Number of blocks between two cuts of the merge.
    pub segment_blocks: usize,
    /// Minimum number of blocks for reading runs in the last merge.
    pub read_blocks: usize,
}

/// The plan of scatter and gather.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScatterShape {
    /// Planned number of bins after the last level.
    pub bins: usize,
    /// Planned size of a bin, in bytes of records.
    pub bin_bytes: u64,
    /// Number of scatters that a record goes through, if the sample predicts the keys well.
    pub levels: usize,
    /// Number of areas for loading bins.
    pub gather_areas: usize,
    /// True if bins are in the output's own file, each near its records' position in the output,
    /// which overwrites them. The file is then `scratch_bytes` larger than the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Plan {
    /// Bytes of the budget that the plan uses.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.pool_bytes + self.index_bytes + self.compression_bytes
    }

    /// The phases of this plan, as far as they are known in advance, each with the bytes that it
    /// processes.
    pub(crate) fn phases(&self) -> Vec<(&'static str, u64)> {
        let (first, again, times, last) = match &self.shape {
            Shape::Merge(shape) => ("form runs", "reduce", shape.merge_passes, "merge"),
            Shape::MergeInputs(_) => return vec![("merge", self.bytes)],
            Shape::Scatter(shape) => ("scatter", "split", shape.levels, "gather"),
        };
        let between = self.bytes * times.saturating_sub(1) as u64;
        let phases = [(first, self.bytes), (again, between), (last, self.bytes)];
        phases.into_iter().filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// True if scratch is in the output's own file.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(&self.shape, Shape::Scatter(shape) if shape.in_place)
    }

    /// Size of the output's file in bytes while it is written.
    pub(crate) fn output_file_bytes(&self) -> u64 {
        align_up(self.bytes + if self.is_in_place() { self.scratch_bytes } else { 0 })
    }

    /// Number of chunks that stay in memory.
    pub fn resident_chunks(&self) -> usize {
        self.chunks - self.spilled_chunks
    }

    /// True if anything may be spilled: by the plan, or because a bin turns out too large for its
    /// area.
    pub(crate) fn may_spill(&self) -> bool {
        self.spilled_chunks > 0 || matches!(self.shape, Shape::Scatter(_)) && self.chunks > 1
    }
}
