//! What a sort of keyed records did.

use crate::units::{Bytes, Count, Decimal};
use crate::variable::Summary;
use crate::{Compressed, LinesReport, Spilled};
use serde::Serialize;
use std::fmt;

/// What a sort of keyed records did.
#[derive(Clone, Debug, Serialize)]
pub struct KeyedReport {
    /// What was read, and how much of it.
    #[serde(flatten)]
    pub counted: Counted,
    /// Its bytes, without headers and keys, and with the line ends that were missing.
    pub bytes: u64,
    /// Bytes written, the header included, before they are compressed.
    pub written_bytes: u64,
    /// A sum over all of it in hexadecimal, the same for what was read and what was written or
    /// dropped: of records with their prefixes, as the verifier has it; of rows with their keys.
    /// Not known of records that only an interrupted process has read.
    pub checksum: Option<String>,
    /// Rows with a value that isn't of its column's type, where such rows go to one end. Not known
    /// if an interrupted process has read some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_rows: Option<u64>,
    /// From the first read to the last write.
    pub seconds: f64,
    /// What that is for `bytes`.
    pub bytes_per_second: f64,
    /// Threads that sorted and merged.
    pub threads: usize,
    /// Memory that was used, in bytes.
    pub memory_bytes: u64,
    /// Counted runs that were formed.
    pub runs: usize,
    /// Bytes that were spilled, with the keys.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them.
    pub scratch_bytes: u64,
    /// Spilled bytes that were compressed, by how.
    #[serde(flatten)]
    pub compressed: Compressed,
}

/// What was counted, and how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Rows of tables.
    Rows(u64),
    /// Records.
    Records(u64),
}

impl Counted {
    /// How many.
    #[must_use]
    pub fn count(self) -> u64 {
        let (Counted::Rows(count) | Counted::Records(count)) = self;
        count
    }
}

impl KeyedReport {
    /// What the engine says of a sort of `bytes` bytes.
    #[must_use]
    pub fn new(counted: Counted, bytes: u64, report: &LinesReport) -> KeyedReport {
        KeyedReport {
            counted,
            bytes,
            written_bytes: report.written_bytes,
            checksum: report.checksum.map(|sum| format!("{sum:x}")),
            bad_rows: None,
            seconds: report.seconds,
            bytes_per_second: bytes as f64 / report.seconds.max(1e-9),
            threads: report.plan.threads,
            memory_bytes: report.plan.memory_bytes(),
            runs: report.runs,
            spilled_bytes: report.spilled_bytes,
            scratch_bytes: report.scratch_bytes,
            compressed: report.compressed,
        }
    }
}

impl fmt::Display for KeyedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = Summary {
            what: match self.counted {
                Counted::Rows(rows) => Count(rows, "row"),
                Counted::Records(records) => Count(records, "record"),
            },
            bytes: self.bytes,
            seconds: self.seconds,
            spilled: Spilled {
                bytes: self.spilled_bytes,
                scratch_bytes: self.scratch_bytes,
                compressed: self.compressed,
            },
            checksum: self.checksum.as_deref(),
        };
        writeln!(f, "{summary}")?;
        if let Some(bad @ 1..) = self.bad_rows {
            writeln!(f, "bad      {}", Count(bad, "row"))?;
        }
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
