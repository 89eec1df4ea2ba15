//! `xsort sort --record prefixed:TYPE`: sorts records that begin with their length.

use super::keyed_plan::print_plan;
use crate::args::{Merge, SortArgs};
use crate::exit::Failure;
use crate::job::Session;
use crate::output::{of_stream, refuse_terminal};
use crate::signals::Stop;
use std::io;
use xsort::Prefixed;
use xsort_disk::is_standard_output;
use xsort_extsort::lines::SortedOutput;
use xsort_extsort::prefixed::input_file;
use xsort_extsort::records::Method;
use xsort_records::Prefix;

pub(super) fn run(args: &SortArgs, prefix: Prefix, stop: &Stop) -> Result<(), Failure> {
    refuse_options(args, prefix)?;
    if !args.dry_run {
        refuse_terminal(&args.output)?;
    }
    let mut session = Session::begin(args.session_options(stop))?;
    let files = session.files(&args.inputs, args.trees())?;
    let sort = Prefixed::files(prefix, &files)
        .keys(args.records.keys.iter().cloned())
        .when(args.merge == Some(Merge::Sorted), Prefixed::merge)
        .when(args.merge == Some(Merge::Any), Prefixed::merge_or_sort)
        .compress(args.compress)
        .scratch(&args.scratch)
        .checkpoint_as(args.checkpoints.checkpoint());
    let path = &args.output;
    if args.dry_run {
        let plan = sort.plan_in(&session.job, path)?;
        return print_plan(session, plan, files.len(), &args.scratch, path);
    }
    let inputs = session.inputs(&files, input_file)?;
    let mut stdout = session.job.hold_stream(io::stdout());
    let is_stream = is_standard_output(path);
    let output = match is_stream {
        true => SortedOutput::Stream(&mut stdout),
        false => SortedOutput::File { path, sync: !args.no_sync },
    };
    let report = sort
        .run_in(&session.job, &session.console, inputs, path, output)
        .map_err(|error| if is_stream { of_stream(error) } else { error })?;
    session.end().print("sort", &report)
}

/// Refuses options that only sorts of records of one size support.
fn refuse_options(args: &SortArgs, prefix: Prefix) -> Result<(), Failure> {
    let unsuitable = [
        (args.remove_input, "--remove-input", "remove the inputs once the sort is done"),
        (args.probe, "--probe", "leave it out"),
        (args.method == Method::Scatter, "--method scatter", "leave it out: runs are merged"),
    ];
    match unsuitable.iter().find(|(is_given, ..)| *is_given) {
        None => Ok(()),
        Some((_, option, way_out)) => Err(Failure::Usage(format!(
            "{option}: only for records of one size, not for --record {prefix}: {way_out}"
        ))),
    }
}
