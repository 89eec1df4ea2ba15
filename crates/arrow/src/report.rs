//! The report of a sort of batches.

/// The report of a sort of batches.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BatchReport {
    /// Number of rows that were pushed and returned.
    pub rows: u64,
    /// Number of batches that were returned.
    pub batches: u64,
    /// Number of sorted runs that were formed on scratch.
    pub runs: usize,
    /// Bytes of rows and keys that were spilled because the memory was full.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them, in whole pages.
    pub scratch_bytes: u64,
    /// The checksum of all rows with their keys, if they passed through the engine. It is equal for
    /// the pushed and the returned rows.
    pub checksum: Option<u64>,
    /// Seconds from the first pushed batch to the last returned one.
    pub seconds: f64,
}
