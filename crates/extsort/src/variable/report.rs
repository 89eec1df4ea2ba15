//! What a sort of lines did.

use super::job::LinesJob;
use super::plan::Plan;
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
    /// Bytes written: fewer than read if duplicates were dropped.
    pub written_bytes: u64,
    /// Sum of the hashes of all lines: the same for those that were read and those that were
    /// written or dropped. `None` of a merge.
    pub checksum: Option<u64>,
    /// Sorted runs that were formed.
    pub runs: usize,
    /// Bytes of lines that were spilled.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them: whole pages, after compression.
    pub scratch_bytes: u64,
    /// Bytes of lines that were compressed, by how.
    pub compressed: Compressed,
    /// From the first read to the last write.
    pub seconds: f64,
    /// How the budget was divided.
    pub plan: Plan,
}

/// What a sort of lines or rows did, in three lines.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// What was sorted.
    pub what: Count<'a>,
    /// Bytes of it.
    pub bytes: u64,
    /// From the first read to the last write.
    pub seconds: f64,
    /// What was spilled.
    pub spilled: Spilled,
    /// The checksum in hexadecimal, if all was hashed.
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

/// What phase one counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormTotals {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) runs: usize,
}

impl LinesReport {
    /// The report of a job whose output is complete. `is_checked`: all lines were hashed when they
    /// were read, and the sums are compared.
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
            runs: formed.runs,
            spilled_bytes: spilled.bytes,
            scratch_bytes: spilled.scratch_bytes,
            compressed: spilled.compressed,
            seconds: begun.elapsed().as_secs_f64(),
            plan: job.plan.clone(),
        })
    }
}
