//! What a sort of prefixed records did.

use crate::units::{Bytes, Count, Decimal};
use crate::variable::Summary;
use serde::Serialize;
use std::fmt;

/// What a sort of prefixed records did.
#[derive(Clone, Debug, Serialize)]
pub struct PrefixedReport {
    /// Records read.
    pub records: u64,
    /// Their bytes, with those of the prefixes.
    pub bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// The checksum of all records with their prefixes, in hexadecimal.
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
    /// Bytes of records with their keys that were spilled.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them.
    pub scratch_bytes: u64,
}

impl fmt::Display for PrefixedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = Summary {
            what: Count(self.records, "record"),
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
        }
        Ok(())
    }
}
