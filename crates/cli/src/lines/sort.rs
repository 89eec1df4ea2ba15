//! A sort or a merge, from inspected inputs to the output.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::inputs::Inputs;
use super::job_failure::of_job;
use super::outgoing::Outgoing;
use super::prepare::Prepared;
use super::progress::{OtherFigures, Watcher, is_watching_asked_for, print_report};
use super::resources;
use super::session::LinesSession;
use super::short_stream::read_if_short;
use super::target::{Target, present};
use crate::gnu_commands::is_called_as_gnu;
use crate::signals::clean_up_when_killed;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use xsort::{IncrementalOrder, LateOutput, records_in_order, sort_in_order};
use xsort_disk::{Disk, STANDARD_OUTPUT};
use xsort_extsort::keyed::RecordsOfLines;
use xsort_extsort::lines::{
    LineKernels, LinesInput, PassError, Shuffle, SortedOutput, TemporaryFiles, merge_passes,
    merge_sequential, sequential_inputs_max, total_bytes,
};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer, merge_lines, sort_lines};
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
    let index = lines.index()?;
    let mut target = open_target(lines, &inputs, session)?;
    let mut late = open_late(lines, session)?;
    let (bytes, can_all_be_open) = (inputs.bytes(), inputs.can_all_be_open());
    let names_bytes = inputs.names.budget_bytes();
    let mut opened = open(command, inputs, bytes, &target)?;
    let is_incremental = command.extras.is_incremental();
    if !command.merge && !is_incremental && !is_watching_asked_for(command, session) {
        read_if_short(&mut opened);
    }
    // Before any other read: a read may wait for a pipe, and the status shows that.
    let watcher = Watcher::new(lines, total_bytes(&opened), session)?;
    let mut prepared = Prepared::new(lines, opened, names_bytes, &session.job)?;
    let header = prepared.take_header(command)?;
    let figures = OtherFigures::of_header(&header, command.terminator());
    let shuffle = resources::shuffle(command)?;
    shuffle.iter().for_each(|shuffle| prepared.shuffle(shuffle));
    let bytes = prepared.bytes();
    let options = resources::options(command, &session.job, bytes);
    let mut outgoing = Outgoing::new(lines, &options, header, index, &mut target);
    let is_all = outgoing.is_unchanged(lines) && !is_incremental;
    let output_file = target.path().filter(|_| is_all);
    let has_path = output_file.is_some();
    if command.merge {
        // GNU sort also empties the output before it reads.
        target.begin().map_err(|error| target.failed(&error))?;
    }
    let reservation = outgoing
        .reserve(prepared.reservation.clone(), options.threads)
        .with("output blocks", target.block_bytes())
        .with("objects", session.object_bytes())
        .with("late lines", late.as_ref().map_or(0, |_| LateOutput::MEMORY_BYTES));
    let options = LinesOptions { output_file, reservation, ..options };
    let disk = &*session.job.disk;
    let mut inputs = prepared.inputs;
    let are_all_at_once = can_all_be_open && inputs.len() <= prepared.inputs_max;
    let is_sequential = command.merge && (!are_all_at_once || bytes < Some(SEQUENTIAL_BYTES_MAX));
    if is_sequential {
        let inputs_max = prepared.inputs_max.min(sequential_inputs_max(&options));
        inputs = reduce(&options, by, inputs, inputs_max, watcher.observer())
            .map_err(|error| pass_failed(error, &options.scratch[0], &target))?;
    }
    let mut out = outgoing.to(&mut target, lines, by, order, &session.job);
    let (options, observer) = (&options, watcher.observer());
    let engine = Engine { lines, by, order, options, disk, observer, header: figures };
    let result = engine.run(inputs, is_sequential, &mut out, late.as_mut());
    drop(out);
    let output = Path::new(command.output.as_deref().unwrap_or_default());
    let report = result.map_err(|error| of_job(&error.of_index(output), &target))?;
    if has_path {
        target.go_to_end().map_err(|error| target.failed(&error))?;
    }
    publish(lines, outgoing, &mut target, late, disk)?;
    prepared.torn_rows.say(lines);
    let report = if shuffle.is_some() { Shuffle::report(report) } else { report };
    let written_bytes = (!has_path).then(|| target.written_bytes());
    print_report(lines, &report, OtherFigures { written_bytes, ..figures }, watcher)
}

/// Publishes the output that is written, and then what belongs beside it.
fn publish(
    lines: &LinesCommand<'_>,
    outgoing: Outgoing,
    target: &mut Target<'_>,
    late: Option<LateOutput<'_>>,
    disk: &dyn Disk,
) -> Result<(), Failure> {
    let index = outgoing.finish_index(lines, disk)?;
    target.publish()?;
    let sync = !lines.command.extras.no_sync;
    index
        .map_or(Ok(()), |index| index.publish(sync))
        .and_then(|()| late.map_or(Ok(()), |late| late.publish(sync)))
        .map_err(|error| failure::of_engine(&error))
}

/// The engine of a command, with what it needs.
struct Engine<'a> {
    lines: &'a LinesCommand<'a>,
    by: &'a dyn LineKernels,
    order: &'a Order,
    options: &'a LinesOptions,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
    /// The lines of the first input that were taken from its beginning.
    header: OtherFigures,
}

impl Engine<'_> {
    /// Sorts or merges `inputs`, and writes them to `out`; lines that come too late go to `late`.
    fn run(
        self,
        inputs: Vec<LinesInput>,
        is_sequential: bool,
        out: &mut (dyn Write + Send),
        late: Option<&mut LateOutput<'_>>,
    ) -> Result<LinesReport, Error> {
        let Engine { lines, by, order, options, disk, observer, header } = self;
        let command = &lines.command;
        match (command.merge, is_sequential) {
            (false, _) if command.extras.shuffles => {
                sort_lines(options, by, inputs, out, disk, observer)
            }
            (false, _) if command.extras.is_incremental() => {
                let OtherFigures { header_lines, .. } = header;
                let order =
                    IncrementalOrder { command, locale: &lines.locale, order, header_lines };
                order.sort(options, inputs, out, late, (disk, observer))
            }
            (false, _) => {
                let out = SortedOutput::Stream(out);
                if let Some(records) = records_in_order(order, options.is_unique) {
                    let (skipped_bytes, top) = (header.header_bytes, command.extras.top_lines);
                    return RecordsOfLines { skipped_bytes, top, ..records }
                        .sort(options, inputs, out, disk, observer);
                }
                sort_in_order(options, order, inputs, out, disk, observer)
            }
            (true, false) => merge_lines(options, by, inputs, out, disk, observer),
            (true, true) => merge_sequential(options, by, inputs, out, observer),
        }
    }
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
    let is_input =
        || present(lines.command.output.as_deref()).is_some_and(|file| inputs.include(file));
    if lines.command.extras.is_incremental() && !target.is_new() && is_input() {
        let what = "the output is an input, too, and would be written while it is read: name \
                    another file with -o, without --in-place";
        return Err(Failure::Message(what.into()));
    }
    Ok(target)
}

/// Opens the file of `--late`.
fn open_late<'d>(
    lines: &LinesCommand<'_>,
    session: &'d LinesSession,
) -> Result<Option<LateOutput<'d>>, Failure> {
    let Some(late) = &lines.command.extras.late else { return Ok(None) };
    clean_up_when_killed().map_err(|error| Failure::said("signals", &error))?;
    let output = lines.command.output.as_deref().unwrap_or(OsStr::new(STANDARD_OUTPUT));
    let late = LateOutput::open(&*session.job.disk, Path::new(late), Path::new(output));
    late.map(Some).map_err(|error| failure::of_engine(&error))
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
