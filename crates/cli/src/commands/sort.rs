//! `xsort sort`: sorts files of records, or prints the plan for it.

use super::sort_prefixed;
use crate::args::{Merge, SortArgs};
use crate::exit::Failure;
use crate::inputs::names_memory::TooManyNames;
use crate::inputs::stdin;
use crate::inputs::tree::TreeError;
use crate::job::Session;
use crate::output::refuse_terminal;
use crate::settings;
use crate::signals::Stop;
use std::path::PathBuf;
use xsort::Sort;
use xsort_disk::is_url;
use xsort_extsort::records::{Facts, plan};
use xsort_extsort::{DryRun, Error};
use xsort_objects::Requests;
use xsort_records::Layout;

pub(crate) fn run(args: &SortArgs, stop: &Stop) -> Result<(), Failure> {
    if let Some(prefix) = settings::prefix(&args.records) {
        return sort_prefixed::run(args, prefix, stop);
    }
    if !args.dry_run {
        refuse_terminal(&args.output)?;
    }
    let layout = settings::layout(&args.records)?;
    let mut session = Session::begin(args.session_options(stop))?;
    let files = files(args, &layout, &mut session)?;
    if stdin::index_of_stdin(&files)?.is_some() && args.remove_input {
        return Err(Failure::Usage(
            "standard input can't be removed (--remove-input): \
             name the file, or leave the option out"
                .into(),
        ));
    }
    let (inputs, stream) = stdin::replace_stdin(files, args.dry_run, stop)?;
    let sort = sort(args, inputs.clone(), layout);
    if args.dry_run {
        let plan = sort.plan_in(&session.job, &session.console, &args.output)?;
        let requests = requests(args, &inputs, &plan, &session);
        return session.end_plan().print_plan("sort", &plan, requests);
    }
    let report = sort.run_in(&session.job, &session.console, stream, &args.output)?;
    let mut printer = session.end();
    printer.print("sort", &report)?;
    printer.print_tables(&report.tables())
}

fn sort(args: &SortArgs, inputs: Vec<PathBuf>, layout: Layout) -> Sort {
    let is_known = !settings::is_format_assumed(&args.records);
    Sort::files(inputs)
        .when(is_known, |sort| sort.layout(layout))
        .method(args.method())
        .when(args.merge == Some(Merge::Any), Sort::merge_or_sort)
        .compress(args.compress)
        .scratch(&args.scratch)
        .when(args.remove_input, Sort::remove_input)
        .when(args.no_sync, Sort::no_sync)
        .when(args.probe, Sort::probe)
        .checkpoint_as(args.checkpoints.checkpoint())
}

/// The requests that a sort sends, if there are objects among its files.
fn requests(
    args: &SortArgs,
    inputs: &[PathBuf],
    DryRun { plan, sample_reads, .. }: &DryRun,
    session: &Session<'_>,
) -> Option<Requests> {
    let names = &session.names;
    let inputs = inputs.iter().map(PathBuf::as_path).zip(names.file_bytes.iter().copied());
    let of_objects = inputs.clone().filter(|(input, _)| is_url(input));
    let object_bytes: u64 = of_objects.map(|(_, bytes)| bytes).sum();
    let output = (&*args.output, plan.bytes);
    let mut requests = session.job.requests(inputs, output, names.lists)?;
    let share = object_bytes as f64 / plan.bytes.max(1) as f64;
    requests.gets += (*sample_reads as f64 * share).ceil() as u64;
    Some(requests)
}

/// The files to sort.
fn files(
    args: &SortArgs,
    layout: &Layout,
    session: &mut Session<'_>,
) -> Result<Vec<PathBuf>, Failure> {
    match session.files(&args.inputs, args.trees()) {
        Err(TreeError::TooManyNames(TooManyNames { budget_bytes, .. })) => {
            let needed_bytes = session.names.budget_bytes() + data_bytes_min(args, layout, session);
            Err(Failure::Job(Error::Memory { budget_bytes, needed_bytes }))
        }
        files => Ok(files?),
    }
}

/// The least bytes of data that a sort of these files needs, besides their names. Returns the
/// requested budget if that is enough.
fn data_bytes_min(args: &SortArgs, layout: &Layout, session: &Session<'_>) -> u64 {
    let budget_bytes = session.job.budget_bytes();
    let facts = Facts {
        input_bytes: session.names.file_bytes.clone(),
        record_bytes: layout.record_bytes() as u64,
        key_bytes: layout.key_bytes() as u64,
        budget_bytes,
        threads: session.job.threads(),
        method: args.method(),
        codec: args.compress,
        may_keep: true,
        in_place: false,
    };
    match plan(&facts) {
        Err(Error::Memory { needed_bytes, .. }) => needed_bytes,
        _ => budget_bytes,
    }
}
