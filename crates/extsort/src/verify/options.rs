//! What to verify, and the verdict.

use std::path::PathBuf;
use xsort_records::{Checksum, Layout, VerifySummary};

/// What to judge, and with how much.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The files, judged as one sequence in this order.
    pub inputs: Vec<PathBuf>,
    /// Size and key of the records.
    pub layout: Layout,
    /// The caller named no format: refuse files that look like something else.
    pub format_is_assumed: bool,
    /// Memory for sections in bytes.
    pub budget_bytes: u64,
    /// Worker threads, at least one.
    pub threads: usize,
    /// Judge order and duplicates; otherwise only count and sum up, as for the input of a sort.
    pub order: bool,
}

/// The verdict.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// Records read.
    pub records: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Checksum of the records.
    pub checksum: Checksum,
    /// Order and duplicates, if `order` was set.
    pub part: Option<VerifySummary>,
}
