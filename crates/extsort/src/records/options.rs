//! The caller's options for a sort.

use crate::{Checkpoint, Codec};
use serde::Serialize;
use std::path::PathBuf;
use std::str::FromStr;
use xsort_kernels::Caches;
use xsort_records::Layout;

/// The options of a sort. They were validated when they were parsed: from here on only the machine
/// can make the sort impossible.
#[derive(Clone, Debug)]
pub struct SortOptions {
    /// Files of whole records, sorted as if concatenated in this order.
    pub inputs: Vec<PathBuf>,
    /// Path of the result; may be one of the inputs.
    pub output: PathBuf,
    /// Record size and key.
    pub layout: Layout,
    /// True if the caller named no format: inputs that don't look like records are refused.
    pub format_is_assumed: bool,
    /// Memory that grows with the data, in bytes. Resident memory stays below this plus 64 MiB.
    pub budget_bytes: u64,
    /// The method.
    pub method: Method,
    /// The codec for the blocks of runs on scratch, if any. Bins are not compressed.
    pub codec: Option<Codec>,
    /// Number of threads that sort and merge; at least 1.
    pub threads: usize,
    /// The share of the processor's caches that a thread may use. Sorting in memory is tuned for
    /// it.
    pub caches: Caches,
    /// Scratch directories, one on each drive. If empty, the output's directory.
    pub scratch: Vec<PathBuf>,
    /// Remove the inputs once they have been read, before the output takes up space.
    pub remove_input: bool,
    /// Make the output durable (fsync) before it is published.
    pub sync: bool,
    /// Measure the drive before the sort, so that the report can show the share of its speed that
    /// was reached.
    pub probe: bool,
    /// The seed that chooses the places from which keys are sampled. Use another number for each
    /// sort, so that no input can mislead the sample, by accident or on purpose. The output doesn't
    /// depend on it, and a resumed sort may have another seed.
    pub sample_seed: u64,
    /// Record finished work, so that a later process can resume the sort.
    pub checkpoint: Option<Checkpoint>,
}

impl SortOptions {
    /// Returns options whose inputs and output the caller must still name. The output becomes
    /// durable. Nothing is compressed, removed, measured or recorded, and no scratch directory is
    /// named.
    pub fn new(layout: Layout, budget_bytes: u64, threads: usize) -> SortOptions {
        SortOptions {
            inputs: Vec::new(),
            output: PathBuf::new(),
            layout,
            format_is_assumed: false,
            budget_bytes,
            method: Method::Auto,
            codec: None,
            threads,
            caches: Caches::default(),
            scratch: Vec::new(),
            remove_input: false,
            sync: true,
            probe: false,
            sample_seed: 1,
            checkpoint: None,
        }
    }
}

/// The method of a sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The method that measurements show to be faster for the data and the machine.
    #[default]
    Auto,
    /// Form sorted runs, then merge them.
    Merge,
    /// Scatter into bins by ranges of keys, then sort each bin.
    Scatter,
    /// Merge the inputs, each of which is in order already. One that isn't is an error.
    MergeInputs,
}

/// The name of a method that doesn't exist.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no method {0:?}: there are auto, merge and scatter")]
pub struct UnknownMethod(String);

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Method, UnknownMethod> {
        match text {
            "auto" => Ok(Method::Auto),
            "merge" => Ok(Method::Merge),
            "scatter" => Ok(Method::Scatter),
            _ => Err(UnknownMethod(text.to_owned())),
        }
    }
}
