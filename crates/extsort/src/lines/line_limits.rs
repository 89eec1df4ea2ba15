//! Limits on the length of lines: the memory of a plan must be enough for a merge not to stall.

use super::options::LinesOptions;
use super::plan::{Plan, sorted_input_blocks};
use xsort_disk::align_down;
use xsort_kernels::lines::LineKernels;

/// Most sorted inputs that may have long lines at the same time. More would mean shorter lines.
pub(super) const LONG_INPUTS_MAX: usize = 4;

/// Blocks, besides one per run, that keep a merge's threads and drives busy.
const WORKING_BLOCKS: usize = 16;

/// Blocks that a merge must have, besides one per run.
pub(super) fn least_working_blocks(plan: &Plan) -> usize {
    plan.threads + 2
}

/// Blocks that a merge should have, besides one per run.
pub(super) fn ample_working_blocks(plan: &Plan) -> usize {
    2 * plan.threads + WORKING_BLOCKS
}

/// The longest line in bytes, its delimiter included, that a sort by this plan can have in two runs
/// at once.
pub(super) fn line_bytes_max(plan: &Plan) -> usize {
    let short = 2 + 1 + least_working_blocks(plan) + 2;
    let long = 2 + 1;
    let memory_bytes = plan.areas * plan.area_bytes;
    align_down((memory_bytes.saturating_sub(short * plan.block_bytes) / long) as u64) as usize
}

/// The longest line in bytes, its delimiter included, of a stream sorted with these options,
/// whatever its other lines.
#[must_use]
pub fn stream_line_bytes_max(options: &LinesOptions, order: &dyn LineKernels) -> usize {
    line_bytes_max(&Plan::new(options, None, order.entry_bytes(), false))
}

/// The longest line in bytes of `inputs` sorted inputs that can be merged, if not too many of them
/// have such lines at once.
pub(super) fn input_line_bytes_max(plan: &Plan, inputs: usize) -> usize {
    long_block_bytes(plan, inputs, plan.areas * plan.area_bytes).max(plan.block_bytes)
}

/// Bytes of a long block in a merge of `inputs` sorted inputs.
pub(super) fn long_block_bytes(plan: &Plan, inputs: usize, memory_bytes: usize) -> usize {
    let short_bytes = sorted_input_blocks(inputs) * plan.block_bytes;
    let rest = memory_bytes - short_bytes.min(memory_bytes / 2);
    align_down((rest / (inputs.min(LONG_INPUTS_MAX) + 1)) as u64) as usize
}
