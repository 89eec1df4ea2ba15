//! `--dry-run`: prints what a sort of lines would do. Nothing is read or written.

use super::command::LinesCommand;
use super::failure::Failure;
use super::inputs::Inputs;
use super::{job_failure, resources};
use crate::commands::bio;
use crate::gnu_commands::reason;
use crate::lines_plan::LinesPlan;
use crate::output::ResultPrinter;
use crate::settings::{ProgressStyle, ReportStyle};
use xsort::{Job, records_in_order};
use xsort_disk::public_text;
use xsort_extsort::LinesOptions;
use xsort_extsort::lines::{LineKernels, dry_run_lines};
use xsort_gnu::sort::Order;

/// Prints the plan of a sort or merge.
pub(super) fn print_dry_run(
    lines: &LinesCommand<'_>,
    (by, order): (&dyn LineKernels, &Order),
    inputs: &Inputs,
    job: &Job,
) -> Result<(), Failure> {
    let command = &lines.command;
    let bytes = inputs.bytes().filter(|_| command.extras.decompress != Some(true));
    let options = resources::options(command, job, bytes);
    let names_bytes = inputs.names.budget_bytes();
    let reservation = options.reservation.clone().with("names of inputs", names_bytes);
    let options = LinesOptions { reservation, ..options };
    let merged_inputs = command.merge.then(|| inputs.count());
    let figures = match records_in_order(order, options.is_unique) {
        Some(records) => records.plan(&options, bytes),
        None => dry_run_lines(&options, by, bytes, merged_inputs),
    };
    let figures = figures.map_err(|error| job_failure::of_plan(&error))?;
    let output = command.output.as_ref();
    let result = LinesPlan {
        inputs: inputs.count(),
        output: output.map(|name| public_text(&name.to_string_lossy()).into_owned()),
        scratch: LinesPlan::scratch_of(&figures, options.scratch),
        figures,
    };
    let json = command.extras.json;
    let progress = ProgressStyle::None;
    let style = ReportStyle {
        json,
        quiet: command.extras.quiet,
        verbosity: u8::from(command.extras.verbose),
        progress,
    };
    let printed = bio::show_plain_command(!json)
        .and_then(|()| ResultPrinter::of_dry_run(style, lines.origins).print("lines", &result));
    printed.map_err(|failure| match failure {
        crate::exit::Failure::File { source, .. } => {
            Failure::Message(format!("write failed: standard output: {}", reason(&source)).into())
        }
        other => Failure::Message(other.to_string().into()),
    })
}
