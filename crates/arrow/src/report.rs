//! What a sort of batches did.

/// What a sort of batches did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BatchReport {
    /// Rows that were pushed, and came out.
    pub rows: u64,
    /// Batches that came out.
    pub batches: u64,
    /// Sorted runs that were formed on scratch.
    pub runs: usize,
    /// Bytes of rows and keys that were spilled because the memory was full.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them, in whole pages.
    pub scratch_bytes: u64,
    /// The sum of the hashes of all rows with their keys, if they passed through the engine: the
    /// same for those that went in and those that came out.
    pub checksum: Option<u64>,
    /// From the first batch that was pushed to the last one that was taken.
    pub seconds: f64,
}
