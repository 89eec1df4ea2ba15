//! The report of a sort of keyed records.

use crate::lines::Summary;
use crate::units::{Bytes, Count, Decimal};
use crate::{Compressed, LinesReport, Share, Spilled};
use serde::Serialize;
use std::fmt;

/// What a sort of keyed records did.
#[derive(Clone, Debug, Serialize)]
pub struct KeyedReport {
    /// Number of rows or records read.
    #[serde(flatten)]
    pub counted: Counted,
    /// Bytes read, without headers and keys, and with the line ends that were missing.
    pub bytes: u64,
    /// Bytes written, the header included, before compression.
    pub written_bytes: u64,
    /// Multiset checksum in hexadecimal. It is equal for the data read and the data written or
    /// dropped. It covers records with their prefixes, as the verifier's does, or rows with their
    /// keys. `None` if an interrupted process has read some of the records.
    pub checksum: Option<String>,
    /// Rows with a value that isn't of its column's type, where such rows go to one end. `None` if
    /// an interrupted process has read some of the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_rows: Option<u64>,
    /// Rows that came too late and were written elsewhere, in an incremental sort that does so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_rows: Option<u64>,
    /// Row groups of files of columns that were copied without being decoded. `None` if there was
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_row_groups: Option<u64>,
    /// Seconds from the first read to the last write.
    pub seconds: f64,
    /// Rate of `bytes` over `seconds`.
    pub bytes_per_second: f64,
    /// Threads that sorted and merged.
    pub threads: usize,
    /// Memory used, in bytes.
    pub memory_bytes: u64,
    /// What the memory was for.
    #[serde(rename = "memory_shares")]
    pub shares: Vec<Share>,
    /// Runs that were formed.
    pub runs: usize,
    /// Bytes that were spilled, with the keys.
    pub spilled_bytes: u64,
    /// Bytes written to scratch for the spilled bytes.
    pub scratch_bytes: u64,
    /// Spilled bytes that were compressed, by codec.
    #[serde(flatten)]
    pub compressed: Compressed,
}

/// The kind of the items that were counted, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Rows of tables.
    Rows(u64),
    /// Records.
    Records(u64),
}

impl Counted {
    /// The number of items.
    #[must_use]
    pub fn count(self) -> u64 {
        let (Counted::Rows(count) | Counted::Records(count)) = self;
        count
    }
}

impl KeyedReport {
    /// The report of a sort of `bytes` bytes, from the engine's report.
    #[must_use]
    pub fn new(counted: Counted, bytes: u64, report: &LinesReport) -> KeyedReport {
        KeyedReport {
            counted,
            bytes,
            written_bytes: report.written_bytes,
            checksum: report.checksum.map(|sum| format!("{sum:x}")),
            bad_rows: None,
            late_rows: report.late_lines,
            copied_row_groups: None,
            seconds: report.seconds,
            bytes_per_second: bytes as f64 / report.seconds.max(1e-9),
            threads: report.plan.threads,
            memory_bytes: report.memory_bytes(),
            shares: report.shares.clone(),
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
        if let Some(late) = self.late_rows {
            writeln!(f, "late     {}", Count(late, "row"))?;
        }
        if let Some(copied) = self.copied_row_groups {
            writeln!(f, "copied   {}", Count(copied, "row group"))?;
        }
        if f.alternate() {
            writeln!(f, "threads  {}", self.threads)?;
            writeln!(f, "memory   {}", Bytes(self.memory_bytes))?;
            self.shares.iter().try_for_each(|share| writeln!(f, "{share}"))?;
            writeln!(f, "runs     {}", self.runs)?;
            writeln!(f, "spilled  {} with keys", Decimal(self.spilled_bytes as f64))?;
            writeln!(f, "written  {}", Decimal(self.written_bytes as f64))?;
        }
        Ok(())
    }
}
