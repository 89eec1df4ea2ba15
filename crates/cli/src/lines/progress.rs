//! What watches a sort of lines, and its report.

use super::command::LinesCommand;
use super::failure::Failure;
use super::resources;
use super::session::LinesSession;
use crate::gnu_commands::{is_called_as_gnu, say};
use crate::job::{Console, ConsoleOptions, JobPlaces};
use crate::output::{self, RunEnd};
use crate::report::{ReportFiles, ReportRequest};
use crate::settings::{self, ProgressStyle, ReportStyle};
use serde::Serialize;
use std::fmt;
use std::io::{self, IsTerminal};
use std::path::Path;
use xsort_extsort::lines::{SMALL_INPUT_BYTES, Summary};
use xsort_extsort::units::{Bytes, Count};
use xsort_extsort::{Compressed, LinesReport, Observer, Share, Spilled, Unobserved};
use xsort_gnu::When;
use xsort_gnu::sort::Command;

/// What watches a sort, and the files that its report goes to.
pub(super) struct Watcher {
    /// `None` for a sort that nothing watches.
    console: Option<Console>,
    limit_bytes_per_second: Option<u64>,
    files: ReportFiles,
}

impl Watcher {
    /// The watcher of a sort of `bytes` bytes, if that is known. A small sort ends before anyone
    /// could watch it, and is faster without a thread for that. If few files may be open, the
    /// thread would use some that the sort needs.
    pub(super) fn new(
        lines: &LinesCommand<'_>,
        bytes: Option<u64>,
        session: &LinesSession,
    ) -> Result<Watcher, Failure> {
        let files = report_files(lines)?;
        let is_small = bytes.is_some_and(|bytes| bytes <= SMALL_INPUT_BYTES);
        let is_asked_for = is_watching_asked_for(&lines.command, session);
        let is_watched = is_asked_for || !is_small && !resources::has_few_files();
        let console = is_watched.then(|| console(lines, session, files.is_any()));
        let limit_bytes_per_second = session.job.rate().map(|rate| rate.bytes_per_second());
        Ok(Watcher { console, limit_bytes_per_second, files })
    }

    /// The observer of the sort.
    pub(super) fn observer(&self) -> &dyn Observer {
        self.console.as_ref().map_or(&Unobserved, |console| console)
    }
}

/// The files of `--report` and `--trace`.
fn report_files(lines: &LinesCommand<'_>) -> Result<ReportFiles, Failure> {
    let Command { files, output, extras, .. } = &lines.command;
    let request = ReportRequest {
        report: extras.report.as_deref().map(Path::new),
        trace: extras.trace.as_deref().map(Path::new),
        has_no_run: false,
    };
    let others = files.iter().chain(output).map(Path::new);
    ReportFiles::create(request, others, extras.no_clobber)
        .map_err(|failure| Failure::Message(failure.to_string().into()))
}

fn console(lines: &LinesCommand<'_>, session: &LinesSession, is_recorded: bool) -> Console {
    let command = &lines.command;
    // GNU sort shows nothing. A bar would tear lines on the same terminal.
    let prints_to_terminal = command.output.is_none() && io::stdout().is_terminal();
    let quiet = command.extras.quiet;
    let may_show = !quiet && !is_called_as_gnu(lines.program) && !prints_to_terminal;
    let progress = ProgressStyle::decide(command.extras.progress, may_show);
    let style = ReportStyle { json: false, quiet, verbosity: 0, progress };
    let scratch = resources::scratch(command);
    let mut directories: Vec<_> = scratch.iter().map(|path| (path.clone(), "scratch")).collect();
    if let Some(output) = command.output.as_ref().filter(|name| !lines.is_url(name)) {
        directories.push((settings::directory_of(Path::new(output)), "output"));
    }
    let limit_bytes_per_second = session.job.rate().map(|rate| rate.bytes_per_second());
    let places =
        JobPlaces { directories, hidden_file_directories: scratch, limit_bytes_per_second };
    Console::new(ConsoleOptions {
        command: "lines",
        style,
        places,
        temperature: session.temperature.clone(),
        is_recorded,
        stop: None,
    })
}

/// True if a sort is watched even if it is small.
pub(super) fn is_watching_asked_for(command: &Command, session: &LinesSession) -> bool {
    let shows_always = command.extras.progress == When::Always;
    let has_files = command.extras.report.is_some() || command.extras.trace.is_some();
    let is_limited = session.temperature.is_some() || session.job.rate().is_some();
    shows_always || has_files || is_limited
}

/// Figures of lines and bytes that bypass the engine.
#[derive(Clone, Copy, Default)]
pub(super) struct OtherFigures {
    /// Lines of `--header`. The next field counts their bytes.
    pub(super) header_lines: u64,
    pub(super) header_bytes: u64,
    /// Bytes written to the output, if the engine doesn't know them.
    pub(super) written_bytes: Option<u64>,
}

impl OtherFigures {
    /// The figures of a header.
    pub(super) fn of_header(header: &[u8], terminator: u8) -> OtherFigures {
        OtherFigures {
            header_lines: memchr::memchr_iter(terminator, header).count() as u64,
            header_bytes: header.len() as u64,
            written_bytes: None,
        }
    }
}

/// The figures of a sort.
#[derive(Serialize)]
struct LinesResult<'r> {
    /// `None` if records of several lines are sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    /// Records of several lines, without the lines of a header.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    bytes: u64,
    written_bytes: u64,
    /// The checksum in hexadecimal; `None` for a merge.
    checksum: Option<String>,
    /// `None` unless lines are sorted as they come, and late ones go to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    late_lines: Option<u64>,
    seconds: f64,
    bytes_per_second: f64,
    threads: usize,
    memory_bytes: u64,
    memory_shares: &'r [Share],
    runs: usize,
    spilled_bytes: u64,
    scratch_bytes: u64,
    #[serde(flatten)]
    compressed: Compressed,
}

/// Prints the figures of a sort for `--json` and `--verbose`, and writes the files of `--report`
/// and `--trace`. Figures go to standard error, because standard output is for the lines.
pub(super) fn print_report(
    lines: &LinesCommand<'_>,
    report: &LinesReport,
    other: OtherFigures,
    watcher: Watcher,
) -> Result<(), Failure> {
    let extras = &lines.command.extras;
    let has_files = watcher.files.is_any();
    if !extras.json && !extras.verbose && !has_files {
        return Ok(());
    }
    let bytes = report.bytes + other.header_bytes;
    let result = LinesResult {
        lines: extras.records.is_none().then_some(report.lines + other.header_lines),
        records: extras.records.as_ref().map(|_| report.lines),
        bytes,
        written_bytes: other.written_bytes.unwrap_or(report.written_bytes),
        checksum: report.checksum.map(|sum| format!("{sum:x}")),
        late_lines: report.late_lines,
        seconds: report.seconds,
        bytes_per_second: bytes as f64 / report.seconds.max(1e-9),
        threads: report.plan.threads,
        memory_bytes: report.memory_bytes(),
        memory_shares: &report.shares,
        runs: report.runs,
        spilled_bytes: report.spilled_bytes,
        scratch_bytes: report.scratch_bytes,
        compressed: report.compressed,
    };
    if extras.verbose && !extras.json {
        say(format!("{result}\n").as_bytes());
    }
    if !extras.json && !has_files {
        return Ok(());
    }
    let Watcher { console, limit_bytes_per_second, files } = watcher;
    let watched = console.as_ref().map(Console::watched);
    // The bar must be gone before anything is printed.
    drop(console);
    let (files, facts) = RunEnd { watched, limit_bytes_per_second, files }.into_facts();
    let json = output::result_json("lines", &result, facts)
        .map_err(|failure| Failure::Message(failure.to_string().into()))?;
    if extras.json {
        say(format!("{json}\n").as_bytes());
    }
    for line in files.write_page(&json) {
        say(format!("{}: warning: {line}\n", lines.program).as_bytes());
    }
    Ok(())
}

impl fmt::Display for LinesResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = Summary {
            what: match self.records {
                Some(records) => Count(records, "record"),
                None => Count(self.lines.unwrap_or_default(), "line"),
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
        summary.fmt(f)?;
        if let Some(late) = self.late_lines {
            write!(f, "\nlate     {}", Count(late, "line"))?;
        }
        let threads = Count(self.threads as u64, "thread");
        write!(f, "\nmemory   {}, {threads}", Bytes(self.memory_bytes))?;
        self.memory_shares.iter().try_for_each(|share| write!(f, "\n{share}"))
    }
}
