//! A sort or a merge, from inspected inputs to the output.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::inputs::Inputs;
use super::job_failure::of_job;
use super::outgoing::Outgoing;
use super::prepare::Prepared;
use super::progress::{OtherFigures, is_watching_asked_for, observer, print_report};
use super::resources;
use super::session::LinesSession;
use super::short_stream::read_if_short;
use super::target::{Target, present};
use crate::gnu_commands::is_called_as_gnu;
use std::path::Path;
use xsort::sort_in_order;
use xsort_extsort::lines::{
    LineKernels, LinesInput, PassError, Shuffle, SortedOutput, TemporaryFiles, merge_passes,
    merge_sequential, sequential_inputs_max, total_bytes,
};
use xsort_extsort::{LinesOptions, Observer, merge_lines, sort_lines};
use xsort_gnu::sort::{Command, Order};

/// Inputs of at least this size are merged by all threads, which assumes that they are in order.
const SEQUENTIAL_BYTES_MAX: u64 = 64 << 20;

/// Sorts or merges `inputs` in the order `order`, whose kernels for the engine are `by`.
pub(super) fn sort_or_merge(
    lines: &LinesCommand<'_>,
    by: &dyn LineKernels,
    order: &Order,
    inputs: Inputs,
    session: &LinesSession,
) -> Result<(), Failure> {
    let command = &lines.command;
    let mut target = open_target(lines, &inputs, session)?;
    let (bytes, can_all_be_open) = (inputs.bytes(), inputs.can_all_be_open());
    let names_bytes = inputs.names.budget_bytes();
    let mut opened = open(command, inputs, bytes, &target)?;
    if !command.merge && !is_watching_asked_for(command, session) {
        read_if_short(&mut opened);
    }
    // Before any other read: a read may wait for a pipe, and the status shows that.
    let observer = observer(lines, total_bytes(&opened), session);
    let mut prepared = Prepared::new(lines, opened, names_bytes, &session.job)?;
    let header = prepared.take_header(command)?;
    let figures = OtherFigures::of_header(&header, command.terminator());
    let shuffle = resources::shuffle(command)?;
    shuffle.iter().for_each(|shuffle| prepared.shuffle(shuffle));
    let bytes = prepared.bytes();
    let options = resources::options(command, &session.job, bytes);
    let outgoing = Outgoing::new(lines, &options, header, &mut target);
    let output_file = target.path().filter(|_| outgoing.is_unchanged(lines));
    let has_path = output_file.is_some();
    if command.merge {
        // GNU sort also empties the output before it reads.
        target.begin().map_err(|error| target.failed(&error))?;
    }
    let reservation = outgoing
        .reserve(prepared.reservation.clone(), options.threads)
        .with("output blocks", target.block_bytes())
        .with("objects", session.object_bytes());
    let options = LinesOptions { output_file, reservation, ..options };
    let disk = &*session.job.disk;
    let mut inputs = prepared.inputs;
    let are_all_at_once = can_all_be_open && inputs.len() <= prepared.inputs_max;
    let is_sequential = command.merge && (!are_all_at_once || bytes < Some(SEQUENTIAL_BYTES_MAX));
    if is_sequential {
        let inputs_max = prepared.inputs_max.min(sequential_inputs_max(&options));
        inputs = reduce(&options, by, inputs, inputs_max, &*observer)
            .map_err(|error| pass_failed(error, &options.scratch[0], &target))?;
    }
    let mut out = outgoing.to(&mut target, lines, by, order, &session.job);
    let result = match (command.merge, is_sequential) {
        (false, _) if command.extras.shuffles => {
            sort_lines(&options, by, inputs, &mut out, disk, &*observer)
        }
        (false, _) => {
            let out = SortedOutput::Stream(&mut out);
            sort_in_order(&options, order, inputs, out, disk, &*observer)
        }
        (true, false) => merge_lines(&options, by, inputs, &mut out, disk, &*observer),
        (true, true) => merge_sequential(&options, by, inputs, &mut out, &*observer),
    };
    drop(out);
    let report = result.map_err(|error| of_job(&error, &target))?;
    if has_path {
        target.go_to_end().map_err(|error| target.failed(&error))?;
    }
    target.publish()?;
    prepared.torn_rows.say(lines);
    let report = if shuffle.is_some() { Shuffle::report(report) } else { report };
    let written_bytes = (!has_path).then(|| target.written_bytes());
    print_report(command, &report, OtherFigures { written_bytes, ..figures })
}

/// Opens the output, which may be one of the inputs.
fn open_target<'d>(
    lines: &LinesCommand<'_>,
    inputs: &Inputs,
    session: &'d LinesSession,
) -> Result<Target<'d>, Failure> {
    let mut target = Target::open(lines, session)?;
    if !is_called_as_gnu(lines.program)
        && let Some(name) = lines.command.output.as_deref()
        && present(Some(name)).is_some_and(|file| inputs.include(file))
    {
        target.will_be_read();
    }
    Ok(target)
}

/// The inputs as they are read: one after the other, or by a merge all at once.
fn open(
    command: &Command,
    inputs: Inputs,
    bytes: Option<u64>,
    target: &Target<'_>,
) -> Result<Vec<LinesInput>, Failure> {
    if command.merge {
        return inputs.open_at_once(target, &resources::scratch(command)[0]);
    }
    inputs.refuse_closed()?;
    resources::refuse_missing_scratch(command, bytes)?;
    Ok(inputs.open_in_turn())
}

/// Merges neighbouring inputs until at most `inputs_max` are left.
fn reduce(
    options: &LinesOptions,
    by: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    inputs_max: usize,
    observer: &dyn Observer,
) -> Result<Vec<LinesInput>, PassError> {
    let directory = &options.scratch[0];
    let create = || tempfile::tempfile_in(directory);
    let temporary = TemporaryFiles { directory, create: &create };
    merge_passes(options, by, inputs, inputs_max, temporary, observer)
}

fn pass_failed(error: PassError, directory: &Path, target: &Target<'_>) -> Failure {
    match error {
        PassError::Create(error) => failure::of_scratch(directory.as_os_str(), &error),
        PassError::Write(error) => {
            Failure::of_file("write failed", directory.as_os_str(), &error).with_limit_hint(&error)
        }
        PassError::Merge(error) => of_job(&error, target),
    }
}
