//! Who watches a sort of lines, and its report.

use super::failure::Failure;
use super::limits::Limits;
use super::resources;
use crate::gnu_commands::say;
use crate::job::{Console, ConsoleOptions, JobResources};
use crate::settings::{self, ProgressStyle, ReportStyle};
use std::io::{self, IsTerminal};
use std::path::Path;
use xsort_disk::RateLimit;
use xsort_extsort::{LinesReport, Observer, Unobserved};
use xsort_gnu::sort::Command;

/// The observer of a sort of so many bytes, if that is known. A small sort is over before anybody
/// could watch it, and sooner without a thread for that; where few files may be open, the thread
/// would take some that the sort needs.
pub(super) fn observer(
    command: &Command,
    bytes: Option<u64>,
    limits: &Limits,
) -> Box<dyn Observer> {
    let is_small = bytes.is_some_and(|bytes| bytes <= resources::SMALL_BYTES);
    let is_needed =
        command.extras.progress || limits.temperature.is_some() || limits.rate.is_some();
    if !is_needed && (is_small || resources::has_few_files()) {
        return Box::new(Unobserved);
    }
    let progress = match command.extras.progress {
        true if io::stderr().is_terminal() => ProgressStyle::Bar,
        true => ProgressStyle::Lines,
        false => ProgressStyle::None,
    };
    let style = ReportStyle { json: false, quiet: false, progress };
    let scratch = resources::scratch(command);
    let mut directories: Vec<_> = scratch.iter().map(|path| (path.clone(), "scratch")).collect();
    if let Some(output) = &command.output {
        directories.push((settings::directory_of(Path::new(output)), "output"));
    }
    let limit_bytes_per_second = limits.rate.as_deref().map(RateLimit::bytes_per_second);
    let resources =
        JobResources { directories, hidden_file_directories: scratch, limit_bytes_per_second };
    let limit = limits.temperature.clone();
    Box::new(Console::new(ConsoleOptions {
        command: "lines",
        style,
        resources,
        temperature: limit,
        stop: None,
    }))
}

/// `--json`: the figures of a sort as one object, on standard error, because standard output is for
/// the lines.
pub(super) fn print_report(command: &Command, report: &LinesReport) -> Result<(), Failure> {
    if !command.extras.json {
        return Ok(());
    }
    let mut text =
        serde_json::to_vec(report).map_err(|error| Failure::said("JSON", &error.into()))?;
    text.push(b'\n');
    say(&text);
    Ok(())
}
