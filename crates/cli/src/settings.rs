//! From arguments to settings: everything that depends on the machine or on two arguments at once
//! is decided here, once.
//!
//! What comes out is what the pipelines take. They check what only they can know: sizes of inputs,
//! space, whether the budget suffices.

use crate::args::{Records, Report, Resources, When};
use crate::exit::Failure;
use crate::memory::Machine;
use crate::signals::Stop;
use crate::size::Amount;
use rustix::process::{Resource, getrlimit};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use xsort_disk::{DiskOptions, Gate, IoChoice, OsDisk, RateLimit};
use xsort_records::{Format, KeyField, KeyKind, Layout};

/// Threads where the address space is limited: each takes a stack of it, and 64 MiB that the
/// allocator sets aside.
const LIMITED_THREADS_MAX: usize = 16;

/// The most threads that a job may use here.
pub(crate) fn threads_max() -> usize {
    if getrlimit(Resource::As).current.is_some() { LIMITED_THREADS_MAX } else { usize::MAX }
}

/// What a job may use.
#[derive(Debug)]
pub(crate) struct Allowance {
    /// Memory for data in bytes.
    pub(crate) budget_bytes: u64,
    pub(crate) threads: usize,
    io: IoChoice,
    /// The temperature of drives in degrees Celsius above which transfers pause, and the gate for
    /// that.
    pub(crate) limit: Option<(f64, Arc<Gate>)>,
    /// How many bytes a second may be moved.
    rate: Option<Arc<RateLimit>>,
    /// A line for the user, if the memory is not what was asked for.
    pub(crate) notice: Option<String>,
}

impl Allowance {
    /// From what was asked for, of a job that `stop` ends.
    pub(crate) fn decide(resources: &Resources, stop: &Stop) -> Allowance {
        let budget = Machine::look().budget(resources.memory);
        let threads = match resources.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => usize::from(threads),
        };
        let threads = threads.min(threads_max());
        let limit = resources.temperature_limit.map(|celsius| (f64::from(celsius), Arc::default()));
        let rate = resources.bandwidth_limit.map(|bytes_per_second| {
            let stop = stop.clone();
            Arc::new(RateLimit::new(bytes_per_second, move || stop.is_set()))
        });
        Allowance {
            budget_bytes: budget.bytes,
            threads,
            io: resources.io,
            limit,
            rate,
            notice: budget.notice,
        }
    }

    /// The limit in bytes a second.
    pub(crate) fn bytes_per_second(&self) -> Option<u64> {
        self.rate.as_ref().map(|rate| rate.bytes_per_second())
    }

    /// The machine's disk, spoken to as asked.
    pub(crate) fn disk(&self) -> Result<OsDisk, Failure> {
        let gate = self.limit.as_ref().map(|(_, gate)| Arc::clone(gate));
        Ok(OsDisk::new(DiskOptions {
            io: self.io,
            gate,
            rate: self.rate.clone(),
            ..DiskOptions::default()
        })?)
    }
}

/// Where the job's news go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Voice {
    pub(crate) json: bool,
    /// The result, notices.
    pub(crate) quiet: bool,
    pub(crate) progress: Progress,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    None,
    /// A line now and then, for logs.
    Lines,
    /// A bar that is drawn over itself.
    Bar,
}

impl Voice {
    pub(crate) fn decide(report: &Report) -> Voice {
        let terminal = std::io::stderr().is_terminal();
        let progress = match (report.progress, terminal) {
            (When::Auto, _) if report.quiet => Progress::None,
            (When::Auto | When::Always, true) => Progress::Bar,
            (When::Always, false) => Progress::Lines,
            (When::Auto, false) | (When::Never, _) => Progress::None,
        };
        Voice { json: report.json, quiet: report.quiet, progress }
    }
}

/// The records' size and key, from the format or from the hand-written specification.
pub(crate) fn layout(records: &Records) -> Result<Layout, Failure> {
    let Some(record_bytes) = records.record else {
        return Ok(records.format.unwrap_or(Format::Gensort).layout());
    };
    let whole =
        KeyField { offset: 0, length: record_bytes, kind: KeyKind::Bytes, descending: false };
    let keys = if records.keys.is_empty() { vec![whole] } else { records.keys.clone() };
    Layout::new(record_bytes, keys).map_err(|error| Failure::Usage(error.to_string()))
}

/// Whether nothing was said of the records' format: then what looks like something else is refused.
pub(crate) fn is_format_assumed(records: &Records) -> bool {
    records.format.is_none() && records.record.is_none()
}

/// Whole records in what was asked for, and what is lost to rounding, in bytes.
pub(crate) fn records(amount: Amount, record_bytes: usize) -> (u64, u64) {
    match amount {
        Amount::Records(records) => (records, 0),
        Amount::Bytes(bytes) => (bytes / record_bytes as u64, bytes % record_bytes as u64),
    }
}

/// The directory that holds a file.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_whole_records() {
        assert_eq!(records(Amount::Bytes(1_000_099), 100), (10_000, 99));
        assert_eq!(records(Amount::Records(7), 100), (7, 0));
        assert_eq!(records(Amount::Bytes(99), 100), (0, 99));
    }
}
