//! What a sort of tables did.

use serde::Serialize;
use std::fmt;
use xsort_extsort::units::{Bytes, Count, Decimal};
use xsort_extsort::variable::Summary;

/// What a sort of tables did.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    /// Rows read, without headers.
    pub rows: u64,
    /// Their bytes, with the line ends that were missing.
    pub bytes: u64,
    /// Bytes written, the header included, before they are compressed.
    pub written_bytes: u64,
    /// Sum of the hashes of all rows with their keys, in hexadecimal: the same for those that were
    /// read and those that were written or dropped.
    pub checksum: String,
    /// From the first read to the last write.
    pub seconds: f64,
    /// What that is for `bytes`.
    pub bytes_per_second: f64,
    /// Threads that sorted and merged.
    pub threads: usize,
    /// Memory that was used.
    pub memory_bytes: u64,
    /// Sorted runs that were formed.
    pub runs: usize,
    /// Bytes of rows with their keys that were spilled.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them.
    pub scratch_bytes: u64,
}

impl fmt::Display for TableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = Summary {
            what: Count(self.rows, "row"),
            bytes: self.bytes,
            seconds: self.seconds,
            scratch_bytes: self.scratch_bytes,
            checksum: Some(&self.checksum),
        };
        writeln!(f, "{summary}")?;
        if f.alternate() {
            writeln!(f, "threads  {}", self.threads)?;
            writeln!(f, "memory   {}", Bytes(self.memory_bytes))?;
            writeln!(f, "runs     {}", self.runs)?;
            writeln!(f, "spilled  {} with keys", Decimal(self.spilled_bytes as f64))?;
            writeln!(f, "written  {}", Decimal(self.written_bytes as f64))?;
        }
        Ok(())
    }
}
