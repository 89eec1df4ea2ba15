//! What a pushed sort did.

use serde::Serialize;

/// What a pushed sort did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SorterReport {
    /// Number of records pushed, and returned.
    pub records: u64,
    /// Bytes of the records and their keys.
    pub bytes: u64,
    /// Sum of the hashes of all keyed records, in any order. Checked to be equal for the records
    /// pushed and the records returned.
    pub checksum: u64,
    /// Sorted runs that were formed.
    pub runs: usize,
    /// Bytes spilled because the memory was full.
    pub spilled_bytes: u64,
    /// Bytes written to scratch for the spilled bytes, in whole pages.
    pub scratch_bytes: u64,
    /// Seconds from the first full buffer to the last record that left the engine.
    pub seconds: f64,
}
