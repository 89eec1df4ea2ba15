//! What a sort of lines did.

use super::plan::Plan;
use serde::Serialize;

/// What was done.
#[derive(Clone, Debug, Serialize)]
pub struct LinesReport {
    /// Lines read.
    pub lines: u64,
    /// Bytes read, with the delimiters that were missing.
    pub bytes: u64,
    /// Bytes written: fewer if only one of several same lines was wanted.
    pub written_bytes: u64,
    /// Sum of the hashes of all lines, which was the same for those read, and for those written or
    /// dropped together. `None` of a merge.
    pub checksum: Option<u64>,
    /// Sorted runs that were formed.
    pub runs: usize,
    /// Bytes of lines that went to scratch.
    pub spilled_bytes: u64,
    /// Bytes that were written there for them: whole pages, compressed if that was asked.
    pub scratch_bytes: u64,
    /// From the first read to the last write.
    pub seconds: f64,
    /// How the budget was divided.
    pub plan: Plan,
}
