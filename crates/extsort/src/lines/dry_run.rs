//! The resources of a planned sort of lines, as far as they are known before the lines are read.

use super::options::LinesOptions;
use super::plan::Plan;
use super::reservation::Share;
use crate::Error;
use crate::store::compression::Codec;
use serde::Serialize;
use xsort_kernels::lines::LineKernels;

/// The resources that a sort or merge of lines would use.
#[derive(Clone, Debug, Serialize)]
pub struct LinesDryRun {
    /// Bytes of the inputs; `None` if unknown.
    pub bytes: Option<u64>,
    /// Most bytes of memory.
    pub memory_bytes: u64,
    /// What the memory is for.
    #[serde(rename = "memory_shares")]
    pub shares: Vec<Share>,
    /// Most bytes on scratch; `None` if the inputs' size is unknown. The number of lines and their
    /// compression are known only when they are read.
    pub scratch_bytes: Option<u64>,
    /// Compression of blocks on scratch: "lz4", "zstd" or "auto"; `None` without compression.
    pub compress: Option<&'static str>,
    /// Threads that would sort and merge.
    pub threads: usize,
}

/// Plans a sort of `input_bytes` bytes, or a merge of `merged_inputs` sorted inputs.
///
/// # Errors
///
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
    // All lines may be empty, so that each byte has an entry.
    let areas_bytes = (plan.areas * plan.area_bytes) as u64;
    let stays_in_memory = |bytes: u64| bytes.saturating_mul(1 + entry_bytes as u64) <= areas_bytes;
    let scratch_bytes = match merged_inputs {
        Some(_) => Some(0),
        None => input_bytes.map(|bytes| if stays_in_memory(bytes) { 0 } else { bytes }),
    };
    let shares = plan.shares(options);
    let memory_bytes = shares.iter().map(|share| share.bytes).sum();
    let compress = options.codec.map(Codec::name);
    let threads = plan.threads;
    Ok(LinesDryRun { bytes: input_bytes, memory_bytes, shares, scratch_bytes, compress, threads })
}
