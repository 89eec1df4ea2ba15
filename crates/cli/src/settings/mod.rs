//! Turns arguments into settings: every decision that depends on the machine, or on two arguments
//! at once, is taken here, once.
//!
//! The pipelines take the results. They check what only they can know: sizes of inputs, space, and
//! whether the budget suffices.
//!
//! | file | idea |
//! |---|---|
//! | `open_files` | how many files may be open |
//! | `outer_limit` | messages that name more memory than a limit set outside leaves |
//! | `stack` | a large enough stack for the main thread |
//! | `refused_memory` | if the system refuses memory, the program ends with a message |
//! | `alternative_stacks` | threads start without alternative signal stacks |

pub(crate) mod alternative_stacks;
pub(crate) mod open_files;
mod outer_limit;
pub(crate) mod refused_memory;
pub(crate) mod stack;

use crate::args::{RecordForm, Records, Report};
use crate::exit::Failure;
pub(crate) use outer_limit::with_outer_limit;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use xsort::size::Amount;
use xsort_disk::{is_standard_output, is_url};
use xsort_gnu::When;
use xsort_records::{Format, KeyField, KeyKind, Layout, Prefix};

/// What a job prints, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReportStyle {
    /// True if the result is printed as JSON.
    pub(crate) json: bool,
    /// True if neither a result for people nor notices are printed.
    pub(crate) quiet: bool,
    /// How often -v was given. Once: the result for people shows what each phase took. Twice: it
    /// has a line for each chunk and bin.
    pub(crate) verbosity: u8,
    pub(crate) progress: ProgressStyle,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressStyle {
    None,
    /// A line from time to time, for logs.
    Lines,
    /// A bar that is redrawn in place.
    Bar,
}

impl ProgressStyle {
    /// Decides how progress is shown. With `--progress=auto` it is shown only if `may_show`.
    pub(crate) fn decide(when: When, may_show: bool) -> ProgressStyle {
        match (when, io::stderr().is_terminal()) {
            (When::Auto, _) if !may_show => ProgressStyle::None,
            (When::Auto | When::Always, true) => ProgressStyle::Bar,
            (When::Always, false) => ProgressStyle::Lines,
            (When::Auto, false) | (When::Never, _) => ProgressStyle::None,
        }
    }
}

impl ReportStyle {
    pub(crate) fn decide(report: &Report) -> ReportStyle {
        let Report { json, quiet, verbose: verbosity, progress, .. } = *report;
        ReportStyle { json, quiet, verbosity, progress: ProgressStyle::decide(progress, !quiet) }
    }
}

/// The records' size and key, from --format or from --record and --key.
pub(crate) fn layout(records: &Records) -> Result<Layout, Failure> {
    let record_bytes = match records.record {
        Some(RecordForm::Bytes(bytes)) => bytes,
        Some(RecordForm::Prefixed(prefix)) => {
            return Err(Failure::Usage(format!("records of --record {prefix} have no one size")));
        }
        None => return Ok(records.format.unwrap_or(Format::Gensort).layout()),
    };
    let whole =
        KeyField { offset: 0, length: record_bytes, kind: KeyKind::Bytes, descending: false };
    let keys = if records.keys.is_empty() { vec![whole] } else { records.keys.clone() };
    Layout::new(record_bytes, keys).map_err(|error| Failure::Usage(error.to_string()))
}

/// The length prefix of the records; `None` if they have a fixed size.
pub(crate) fn prefix(records: &Records) -> Option<Prefix> {
    match records.record {
        Some(RecordForm::Prefixed(prefix)) => Some(prefix),
        _ => None,
    }
}

/// True if no option names the records' format. Then inputs of another format are refused.
pub(crate) fn is_format_assumed(records: &Records) -> bool {
    records.format.is_none() && records.record.is_none()
}

/// The number of whole records in an amount, and the remaining bytes.
pub(crate) fn records(amount: Amount, record_bytes: usize) -> (u64, u64) {
    match amount {
        Amount::Records(records) => (records, 0),
        Amount::Bytes(bytes) => (bytes / record_bytes as u64, bytes % record_bytes as u64),
    }
}

/// The directories that outputs are written to; empty for standard output and URLs.
pub(crate) fn output_directories(output: &Path) -> Vec<PathBuf> {
    match is_standard_output(output) || is_url(output) {
        true => Vec::new(),
        false => vec![directory_of(output)],
    }
}

/// The directory that holds a file.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    xsort_disk::parent_directory(file)
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
