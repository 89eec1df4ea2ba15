//! What a pushed sort did.

use serde::Serialize;

/// What a pushed sort did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SorterReport {
    /// Records that were pushed, and came out.
    pub records: u64,
    /// Bytes of them and their keys.
    pub bytes: u64,
    /// Sum of the hashes of all records with their keys as the engine has them, which doesn't
    /// depend on the order: the same for those that went in and those that came out.
    pub checksum: u64,
    /// Sorted runs that were formed.
    pub runs: usize,
    /// Bytes that were spilled because the memory was full.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them, in whole pages.
    pub scratch_bytes: u64,
    /// From the first full buffer to the last record that left the engine.
    pub seconds: f64,
}
