//! The options and the result of a verification.

use std::path::PathBuf;
use xsort_records::{Checksum, Layout, VerifySummary};

/// The options of a verification.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The files, verified as one sequence in this order.
    pub inputs: Vec<PathBuf>,
    /// Size and key of the records.
    pub layout: Layout,
    /// True if the caller named no format: files that don't look like records are refused.
    pub format_is_assumed: bool,
    /// Memory for sections in bytes.
    pub budget_bytes: u64,
    /// Number of worker threads, at least one.
    pub threads: usize,
    /// True to check order and duplicates. Otherwise the records are only counted and hashed, as
    /// for the input of a sort.
    pub order: bool,
}

/// The result of a verification.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// Number of records read.
    pub records: u64,
    /// Number of bytes read.
    pub bytes: u64,
    /// Checksum of the records.
    pub checksum: Checksum,
    /// Order and duplicates, if `order` was set.
    pub part: Option<VerifySummary>,
}
