//! `xsort sort`: sorts files of records, or prints the plan for it.

use super::resources::resources;
use super::sort_prefixed;
use crate::args::SortArgs;
use crate::exit::Failure;
use crate::inputs::expand::{ExpandedInputs, expand};
use crate::inputs::names_memory::{NamesMemory, TooManyNames};
use crate::inputs::stdin;
use crate::inputs::tree::{TreeError, TreeOptions};
use crate::job::{Console, ConsoleOptions};
use crate::output::{ResultPrinter, refuse_terminal};
use crate::settings::{self, JobLimits, ReportStyle};
use crate::signals::Stop;
use std::path::PathBuf;
use xsort::machine::{caches, random_seed};
use xsort_disk::{Disk, is_url};
use xsort_extsort::fixed::{Facts, plan};
use xsort_extsort::{DryRun, Error, Observer, SortOptions, dry_run, sort_streamed};
use xsort_objects::{ObjectUse, Requests};
use xsort_records::Layout;

pub(crate) fn run(args: &SortArgs, stop: &Stop) -> Result<(), Failure> {
    if let Some(prefix) = settings::prefix(&args.records) {
        return sort_prefixed::run(args, prefix, stop);
    }
    let style = ReportStyle::decide(&args.report);
    if !args.dry_run {
        refuse_terminal(&args.output)?;
    }
    let layout = settings::layout(&args.records)?;
    let objects = ObjectUse::of(&args.inputs, Some(&args.output));
    let limits = JobLimits::decide(&args.resources, objects, args.no_clobber, stop);
    let mut names = NamesMemory::default();
    let disk = limits.disk()?;
    let expanded = expand_inputs(args, &layout, &limits, &*disk, &mut names, stop)?;
    let (inputs, stream) = stdin::replace_stdin(expanded.files, args, stop)?;
    let console = Console::new(ConsoleOptions {
        command: "sort",
        style,
        resources: resources(&args.inputs, &args.scratch, &args.output, &limits),
        temperature: limits.temperature.clone(),
        stop: Some(stop),
    });
    limits.notice.iter().chain(&expanded.notices).for_each(|line| console.notice(line));

    let options = sort_options(args, inputs, layout, &limits, &names);
    if args.dry_run {
        let plan = dry_run(&options, &*disk, &console)
            .map_err(|error| limits.add_to(names.add_to(error)))?;
        disk.notices().iter().for_each(|line| console.notice(line));
        drop(console);
        let requests = requests(&options, &plan, &limits, &names);
        return ResultPrinter::of_dry_run(style).print_plan("sort", &plan, requests);
    }
    let report = sort_streamed(&options, stream, &*disk, &console)
        .map_err(|error| limits.add_to(names.add_to(error)))?;
    disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);
    let printer = ResultPrinter::beside(&args.output, style);
    printer.print("sort", &report)?;
    printer.print_tables(&report.tables())
}

/// The requests that a sort makes, if there are objects among its files.
fn requests(
    options: &SortOptions,
    DryRun { plan, sample_reads, .. }: &DryRun,
    limits: &JobLimits,
    names: &NamesMemory,
) -> Option<Requests> {
    let inputs = options.inputs.iter().map(PathBuf::as_path);
    let inputs = inputs.zip(names.file_bytes.iter().copied());
    let of_objects = inputs.clone().filter(|(input, _)| is_url(input));
    let object_bytes: u64 = of_objects.map(|(_, bytes)| bytes).sum();
    let mut requests = limits.requests(inputs, (&options.output, plan.bytes), names.lists)?;
    let share = object_bytes as f64 / plan.bytes.max(1) as f64;
    requests.gets += (*sample_reads as f64 * share).ceil() as u64;
    Some(requests)
}

/// The files to sort. Their names are added to `names`.
fn expand_inputs(
    args: &SortArgs,
    layout: &Layout,
    limits: &JobLimits,
    disk: &dyn Disk,
    names: &mut NamesMemory,
    stop: &Stop,
) -> Result<ExpandedInputs, Failure> {
    let options = TreeOptions {
        counts_links: args.trees.count_links,
        allows_empty: args.trees.empty.allow_empty,
        ..TreeOptions::beside(&args.output, limits.budget_bytes)
    };
    match expand(&args.inputs, options, names, disk, || stop.is_set()) {
        Err(TreeError::TooManyNames(TooManyNames { budget_bytes, .. })) => {
            let needed_bytes = names.budget_bytes() + data_bytes_min(names, layout, args, limits);
            Err(Failure::Job(Error::Memory { budget_bytes, needed_bytes }))
        }
        expanded => Ok(expanded?),
    }
}

fn sort_options(
    args: &SortArgs,
    inputs: Vec<PathBuf>,
    layout: Layout,
    limits: &JobLimits,
    names: &NamesMemory,
) -> SortOptions {
    SortOptions {
        inputs,
        output: args.output.clone(),
        layout,
        format_is_assumed: settings::is_format_assumed(&args.records),
        budget_bytes: limits.budget_bytes - names.budget_bytes().min(limits.budget_bytes),
        method: args.method,
        codec: args.compress,
        threads: limits.threads,
        caches: caches(args.cache_size),
        scratch: args.scratch.clone(),
        remove_input: args.remove_input,
        sync: !args.no_sync,
        probe: args.dry_run || args.probe,
        sample_seed: random_seed(),
        checkpoint: args.checkpoints.checkpoint(),
    }
}

/// Bytes that a sort of these files needs at least, besides their names; the requested budget if
/// that is enough.
fn data_bytes_min(
    names: &NamesMemory,
    layout: &Layout,
    args: &SortArgs,
    limits: &JobLimits,
) -> u64 {
    let facts = Facts {
        input_bytes: names.file_bytes.clone(),
        record_bytes: layout.record_bytes() as u64,
        key_bytes: layout.key_bytes() as u64,
        budget_bytes: limits.budget_bytes,
        threads: limits.threads,
        method: args.method,
        codec: args.compress,
        may_keep: true,
        in_place: false,
    };
    match plan(&facts) {
        Err(Error::Memory { needed_bytes, .. }) => needed_bytes,
        _ => limits.budget_bytes,
    }
}
