//! `--dry-run`: what a sort of lines would do. Nothing is read or written.

use super::command::LinesCommand;
use super::failure::Failure;
use super::inputs::Inputs;
use super::{job_failure, resources};
use crate::gnu_commands::reason;
use crate::output::ResultPrinter;
use crate::settings::{ProgressStyle, ReportStyle};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use xsort_disk::DisplayPath;
use xsort_extsort::LinesOptions;
use xsort_extsort::units::{Bytes, Count, Decimal};
use xsort_extsort::variable::{LineOrder, LinesDryRun, dry_run_lines};

/// What would be done.
#[derive(Serialize)]
struct DryRunResult {
    /// How many inputs.
    inputs: usize,
    /// The file that would be written; `None` for standard output.
    output: Option<String>,
    #[serde(flatten)]
    figures: LinesDryRun,
    /// Directories.
    #[serde(serialize_with = "crate::output::lossy_all")]
    scratch: Vec<PathBuf>,
}

/// Prints what would be done.
pub(super) fn print_dry_run<O: LineOrder>(
    lines: &LinesCommand<'_>,
    inputs: &Inputs,
) -> Result<(), Failure> {
    let command = &lines.command;
    let bytes = inputs.bytes().filter(|_| !command.extras.decompress);
    let options = resources::options(command, bytes);
    let options = LinesOptions { taken_bytes: inputs.names.budget_bytes(), ..options };
    let merged_inputs = command.merge.then(|| inputs.count());
    let figures = dry_run_lines::<O>(&options, bytes, merged_inputs)
        .map_err(|error| job_failure::of_plan(&error))?;
    let output = command.output.as_ref();
    let result = DryRunResult {
        inputs: inputs.count(),
        output: output.map(|name| name.to_string_lossy().into_owned()),
        figures,
        scratch: options.scratch,
    };
    let json = command.extras.json;
    let progress = ProgressStyle::None;
    let style = ReportStyle { json, quiet: command.extras.quiet, verbose: false, progress };
    ResultPrinter::of_dry_run(style).print("lines", &result).map_err(|failure| match failure {
        crate::exit::Failure::File { source, .. } => {
            Failure::Message(format!("write failed: standard output: {}", reason(&source)).into())
        }
        other => Failure::Message(other.to_string().into()),
    })
}

impl fmt::Display for DryRunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = Count(self.inputs as u64, "file");
        match self.figures.bytes {
            Some(bytes) => writeln!(f, "input    {} in {files}", Decimal(bytes as f64))?,
            None => writeln!(f, "input    of unknown size, {files}")?,
        }
        let output = self.output.as_deref().unwrap_or("standard output");
        writeln!(f, "output   {}", DisplayPath(output))?;
        let threads = Count(self.figures.threads as u64, "thread");
        writeln!(f, "memory   at most {}, {threads}", Bytes(self.figures.memory_bytes))?;
        let names: Vec<_> = self.scratch.iter().map(|path| DisplayPath(path).to_string()).collect();
        match self.figures.scratch_bytes {
            Some(0) => write!(f, "scratch  none"),
            Some(bytes) => {
                let bytes = Decimal(bytes as f64);
                write!(f, "scratch  at most {bytes} in {}", names.join(", "))
            }
            None => write!(f, "scratch  as much as the input takes, in {}", names.join(", ")),
        }
    }
}
