//! A sort with a checkpoint, which can be resumed. It reads only files and objects, and writes one.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::inputs::Inputs;
use super::prepare::Prepared;
use super::progress::{OtherFigures, Watcher, print_report};
use super::resources;
use super::session::LinesSession;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Creation, DisplayPath, NewFile};
use xsort_extsort::lines::{LineKernels, LinesCheckpoint};
use xsort_extsort::{Begin, Checkpoint, LinesOptions, sort_lines};
use xsort_gnu::sort::{Checkpoint as CheckpointOption, Command};

/// How often new data is made durable.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// Sorts `inputs` with a checkpoint.
pub(super) fn sort_resumably(
    lines: &LinesCommand<'_>,
    checkpoint: CheckpointOption,
    by: &dyn LineKernels,
    inputs: Inputs,
    session: &LinesSession,
) -> Result<(), Failure> {
    let command = &lines.command;
    let output = output_of(lines)?;
    refuse_obstacle(lines, &output, session)?;
    let Some(files) = inputs.files() else {
        return Err(refusal("reads files only: what comes from a pipe can't be read again"));
    };
    let bytes = inputs.bytes();
    resources::refuse_missing_scratch(command, bytes)?;
    let names_bytes = inputs.names.budget_bytes();
    let prepared = Prepared::new(lines, inputs.open_in_turn(), names_bytes, &session.job)?;
    let bytes = prepared.bytes();
    let begin = match checkpoint {
        CheckpointOption::Begin => Begin::New,
        CheckpointOption::Resume => Begin::Resume,
        CheckpointOption::Restart => Begin::Restart,
    };
    let every = command.extras.checkpoint_every.unwrap_or(CHECKPOINT_EVERY);
    let checkpoint = LinesCheckpoint {
        checkpoint: Checkpoint { begin, every },
        output,
        inputs: files,
        meaning: meaning(lines),
    };
    let watcher = Watcher::new(lines, bytes, session)?;
    let options = LinesOptions {
        checkpoint: Some(checkpoint),
        reservation: prepared.reservation.clone(),
        ..resources::options(command, &session.job, bytes)
    };
    // The checkpoint writes the output.
    let nowhere = &mut io::sink();
    let (disk, observer) = (&*session.job.disk, watcher.observer());
    let report = sort_lines(&options, by, prepared.inputs, nowhere, disk, observer)
        .map_err(|error| Failure::Message(error.to_string().into()))?;
    prepared.torn_rows.say(lines);
    print_report(lines, &report, OtherFigures::default(), watcher)
}

/// The output file, if the command can be resumed.
fn output_of(lines: &LinesCommand<'_>) -> Result<PathBuf, Failure> {
    let command = &lines.command;
    let Some(output) = &command.output else { return Err(refusal("needs an output file (-o)")) };
    let unknown_seed = command.needs_random() && command.random_source.is_none();
    let excluded = [
        (command.merge, "is no merge (-m)"),
        (command.debug, "has no --debug"),
        (command.extras.counts, "has no --count"),
        (command.extras.in_place, "writes a new file, and has no --in-place"),
        (command.extras.shuffles, "has no --shuffle"),
        (command.extras.header_lines > 0, "has no --header"),
        (command.extras.header_prefix.is_some(), "has no --header-prefix"),
        (command.extras.top_lines.is_some(), "has no --top"),
        (lines.output_codec().is_some(), "doesn't compress its output (--compress-output=none)"),
        (unknown_seed, "with -R needs --random-source"),
    ];
    match excluded.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, what)) => Err(refusal(what)),
        None => Ok(output.into()),
    }
}

/// Refuses an output that a new file can't replace without a loss: a resumable sort rewrites no
/// file in place.
fn refuse_obstacle(
    lines: &LinesCommand<'_>,
    output: &Path,
    session: &LinesSession,
) -> Result<(), Failure> {
    if lines.command.extras.no_clobber || session.disk_of_url(output.as_os_str()).is_some() {
        return Ok(());
    }
    match NewFile::create(output, false).map_err(|error| failure::of_disk(&error))? {
        Creation::Created(_) => Ok(()),
        Creation::Obstructed(obstacle) => Err(Failure::Message(
            format!(
                "{}: a sort that can be resumed puts a new file in its place, and that would be a \
                 loss, because {obstacle}: choose another output, or sort without --checkpoint",
                DisplayPath(output)
            )
            .into(),
        )),
    }
}

fn refusal(what: &str) -> Failure {
    Failure::Message(format!("a sort that can be resumed {what}").into())
}

/// The options that decide the order and the lines wanted. A sort is resumed only with the same
/// ones.
fn meaning(lines: &LinesCommand<'_>) -> String {
    let Command {
        keys, unique, stable, reverse, zero_terminated, separator, random_source, ..
    } = &lines.command;
    let order = (keys, unique, stable, reverse, zero_terminated, separator, random_source);
    let locale =
        ["LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LANG"].map(std::env::var_os);
    format!("{order:?} {} {locale:?}", lines.decompresses())
}
