//! Arguments of `xsort report`, and those of commands that write a page about their run.

use super::help::{DONE, REPORT, TEMPLATE, environment_and_exit_status};
use super::values::output;
use crate::report::ReportRequest;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use xsort_disk::STANDARD_OUTPUT;

const EXAMPLES: &str = "\
Examples:
  xsort sort data -o sorted --report run.html      a page right after the run
  xsort sort data -o sorted --json > run.json      the same figures, for later
  xsort report run.json -o run.html                the page, made later
  xsort report before.json after.json -o both.html two runs, machines or settings
";

/// Make a page about a run from its --json report, or compare two
///
/// The page is one file of HTML, which needs no network and no script. It says what bounded the run
/// and what could be changed, where the figures show it; then come phases, stages, memory, scratch,
/// and the command and the machine. Reports of gen, sort, lines, table, verify and du have pages.
/// A run with --report has more in its report than one without: what each thread did over time.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES)]
#[command(after_long_help = environment_and_exit_status(DONE))]
pub(crate) struct PageArgs {
    /// What --json printed; '-' is standard input
    #[arg(value_name = "REPORT", value_hint = ValueHint::FilePath)]
    pub(crate) report: PathBuf,

    /// A second report, to compare with the first one
    #[arg(value_name = "OTHER", value_hint = ValueHint::FilePath)]
    pub(crate) other: Option<PathBuf>,

    /// The page; '-' is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = output(), default_value = STANDARD_OUTPUT)]
    pub(crate) output: PathBuf,
}

/// What is written about the run.
#[derive(Debug, Args)]
#[command(next_help_heading = REPORT)]
pub(crate) struct RunFiles {
    /// Write a page about the run: what took the time, and why (HTML)
    ///
    /// It is one file, which needs no network and no script, and appears when the job is done. If
    /// it can't be written then, a warning says so, and the exit status is that of the job.
    #[arg(id = "report", long = "report", value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = output())]
    pub(crate) page: Option<PathBuf>,

    /// Write what each thread did over time, in Chrome's trace format, for Perfetto and speedscope
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[arg(value_parser = output())]
    pub(crate) trace: Option<PathBuf>,
}

impl RunFiles {
    /// The files that are wanted. `has_no_run`: the command only plans or checks.
    pub(crate) fn request(&self, has_no_run: bool) -> ReportRequest<'_> {
        ReportRequest { report: self.page.as_deref(), trace: self.trace.as_deref(), has_no_run }
    }
}
