//! What a caller wants of a sort.

use crate::{Checkpoint, Codec};
use serde::Serialize;
use std::path::PathBuf;
use std::str::FromStr;
use xsort_kernels::Caches;
use xsort_records::Layout;

/// Everything a sort needs to know. The arguments were checked when they were parsed: from here on
/// only the machine can make the sort impossible.
#[derive(Clone, Debug)]
pub struct SortOptions {
    /// Files of whole records, sorted as if concatenated in this order.
    pub inputs: Vec<PathBuf>,
    /// Where the result goes; may be one of the inputs.
    pub output: PathBuf,
    /// Record size and key.
    pub layout: Layout,
    /// The caller named no format: refuse inputs that look like something else.
    pub format_is_assumed: bool,
    /// All memory that grows with the data, in bytes. Resident memory stays under this plus 64 MiB.
    pub budget_bytes: u64,
    /// How to sort.
    pub method: Method,
    /// How blocks of runs are compressed on scratch, if at all. Bins aren't.
    pub codec: Option<Codec>,
    /// Threads that sort and merge, at least 1.
    pub threads: usize,
    /// The share of the processor's caches that a thread may use: sorting in memory is tuned for
    /// it.
    pub caches: Caches,
    /// Directories for scratch, one a drive if there are several. Empty: the output's directory.
    pub scratch: Vec<PathBuf>,
    /// Remove the inputs once they have been read, before the output takes up space.
    pub remove_input: bool,
    /// Make the output durable (fsync) before it is put in place.
    pub sync: bool,
    /// Measure the drive before the sort, so that the report can say which share of its speed was
    /// reached.
    pub probe: bool,
    /// Chooses the places in the input from which keys are sampled. Use another number for each
    /// sort: then no input can lie so that its sample misleads, by accident or on purpose. The
    /// output doesn't depend on it, and a resumed sort may have another one.
    pub sample_seed: u64,
    /// Record finished work, so that a later process can resume the sort.
    pub checkpoint: Option<Checkpoint>,
}

/// How a sort is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// What measurements say is faster for the data and the machine.
    #[default]
    Auto,
    /// Sorted runs, then a merge of them.
    Merge,
    /// Bins by ranges of keys, then a sort of each.
    Scatter,
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
