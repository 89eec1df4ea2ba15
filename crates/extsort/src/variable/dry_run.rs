//! What a sort of lines would use, as far as that is known before the lines are read.

use super::options::LinesOptions;
use super::plan::Plan;
use crate::Error;
use crate::store::compression::Codec;
use serde::Serialize;
use xsort_kernels::lines::LineKernels;

/// What a sort or merge of lines would use.
#[derive(Clone, Debug, Serialize)]
pub struct LinesDryRun {
    /// Bytes of the inputs; `None` if that is unknown.
    pub bytes: Option<u64>,
    /// Bytes of memory, at most.
    pub memory_bytes: u64,
    /// Bytes on scratch, at most; `None` if the inputs' size is unknown. How many lines there are
    /// and how well they compress is known when they are read.
    pub scratch_bytes: Option<u64>,
    /// How blocks on scratch would be compressed, if at all: "lz4", "zstd" or "auto".
    pub compress: Option<&'static str>,
    /// Threads that would sort and merge.
    pub threads: usize,
}

/// What a sort of `input_bytes` would use, or a merge of so many sorted inputs.
///
/// # Errors
/// [`Error::Memory`] if the budget is too small for the inputs.
pub fn dry_run_lines(
    options: &LinesOptions,
    order: &dyn LineKernels,
    input_bytes: Option<u64>,
    merged_inputs: Option<usize>,
) -> Result<LinesDryRun, Error> {
    let entry_bytes = order.entry_bytes();
    let plan = match merged_inputs {
        Some(inputs) => Plan::for_merge(options, inputs, input_bytes),
        None => Plan::new(options, input_bytes, entry_bytes, options.checkpoint.is_some()),
    };
    if merged_inputs.is_none() {
        plan.refuse_index(options, input_bytes)?;
    }
    // Lines may all be empty, so that each byte has an entry.
    let areas_bytes = (plan.areas * plan.area_bytes) as u64;
    let stays_in_memory = |bytes: u64| bytes.saturating_mul(1 + entry_bytes as u64) <= areas_bytes;
    let scratch_bytes = match merged_inputs {
        Some(_) => Some(0),
        None => input_bytes.map(|bytes| if stays_in_memory(bytes) { 0 } else { bytes }),
    };
    let memory_bytes = plan.memory_bytes();
    let compress = options.codec.map(Codec::name);
    let threads = plan.threads;
    Ok(LinesDryRun { bytes: input_bytes, memory_bytes, scratch_bytes, compress, threads })
}
