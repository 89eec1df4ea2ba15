//! The report of a sort of lines.

use super::job::LinesJob;
use super::plan::Plan;
use super::reservation::Share;
use crate::units::{Count, Decimal, Rate};
use crate::{Compressed, Error, Spilled};
use serde::Serialize;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// What a sort or merge of lines did.
#[derive(Clone, Debug, Serialize)]
pub struct LinesReport {
    /// Lines read.
    pub lines: u64,
    /// Bytes read, with the delimiters that were missing.
    pub bytes: u64,
    /// Bytes written. Less than `bytes` if duplicates were dropped.
    pub written_bytes: u64,
    /// Sum of the hashes of all lines. It is equal for the lines read and the lines written or
    /// dropped. `None` for a merge.
    pub checksum: Option<u64>,
    /// Lines that came too late and were written elsewhere, in an incremental sort that does so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_lines: Option<u64>,
    /// Sorted runs that were formed.
    pub runs: usize,
    /// Bytes of lines that were spilled.
    pub spilled_bytes: u64,
    /// Bytes written to scratch for the spilled lines: whole pages, after compression.
    pub scratch_bytes: u64,
    /// Bytes of lines that were compressed, by codec.
    pub compressed: Compressed,
    /// Seconds from the first read to the last write.
    pub seconds: f64,
    /// How the budget was divided.
    pub plan: Plan,
    /// What the memory was for.
    #[serde(rename = "memory_shares")]
    pub shares: Vec<Share>,
}

/// The result of a sort of lines or rows, in three lines.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// Number and kind of the items sorted.
    pub what: Count<'a>,
    /// Bytes of the items.
    pub bytes: u64,
    /// Seconds from the first read to the last write.
    pub seconds: f64,
    /// The bytes that were spilled.
    pub spilled: Spilled,
    /// The checksum in hexadecimal, if all items were hashed.
    pub checksum: Option<&'a str>,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { what, bytes, seconds, spilled, checksum } = *self;
        writeln!(f, "sorted   {what}, {}, in {seconds:.2} s", Decimal(bytes as f64))?;
        write!(f, "speed    {}", Rate(bytes as f64 / seconds.max(1e-9)))?;
        if spilled.scratch_bytes > 0 {
            write!(f, ", {spilled}")?;
        }
        let Count(_, name) = what;
        match checksum {
            Some(checksum) => write!(f, "\nchecked  all {name}s, by checksum {checksum}"),
            None => write!(f, "\nchecked  the number of {name}s"),
        }
    }
}

/// Counts of phase one.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormTotals {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) runs: usize,
}

impl LinesReport {
    /// The report of a job whose output is complete. `is_checked` is true if all lines were hashed
    /// when they were read; their checksums are then compared.
    pub(super) fn new(
        job: &LinesJob<'_>,
        formed: FormTotals,
        is_checked: bool,
        written_bytes: u64,
        begun: Instant,
    ) -> Result<LinesReport, Error> {
        let checksum = if is_checked { Some(job.check_sums()?) } else { None };
        let spilled = job.gauges.spilled.read();
        Ok(LinesReport {
            lines: formed.lines + job.sorted_lines.load(Relaxed),
            bytes: formed.bytes + job.sorted_bytes.load(Relaxed),
            written_bytes,
            checksum,
            late_lines: None,
            runs: formed.runs,
            spilled_bytes: spilled.bytes,
            scratch_bytes: spilled.scratch_bytes,
            compressed: spilled.compressed,
            seconds: begun.elapsed().as_secs_f64(),
            plan: job.plan.clone(),
            shares: job.plan.shares(job.options),
        })
    }

    /// Bytes of all memory that was planned: the sum of the shares.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.shares.iter().map(|share| share.bytes).sum()
    }
}
