//! `xsort sort --record prefixed:TYPE`: sorts records that begin with their length.

use super::keyed_engine::{checkpoint, engine_options, print_plan};
use super::resources::resources;
use super::stream_inputs::inputs;
use crate::args::SortArgs;
use crate::exit::Failure;
use crate::inputs::expand::{ExpandedInputs, expand};
use crate::inputs::names_memory::NamesMemory;
use crate::inputs::tree::TreeOptions;
use crate::job::{Console, ConsoleOptions};
use crate::output::{ResultPrinter, of_stream, refuse_terminal};
use crate::settings::{JobLimits, ReportStyle};
use crate::signals::Stop;
use std::io;
use xsort_disk::is_standard_output;
use xsort_extsort::fixed::Method;
use xsort_extsort::prefixed::{PrefixedOptions, input_file, plan_prefixed, sort_prefixed};
use xsort_extsort::variable::SortedOutput;
use xsort_extsort::{LinesOptions, Observer};
use xsort_objects::ObjectUse;
use xsort_records::Prefix;

pub(super) fn run(args: &SortArgs, prefix: Prefix, stop: &Stop) -> Result<(), Failure> {
    refuse_options(args, prefix)?;
    let style = ReportStyle::decide(&args.report);
    if !args.dry_run {
        refuse_terminal(&args.output)?;
    }
    let objects = ObjectUse::of(&args.inputs, Some(&args.output));
    let limits = JobLimits::decide(&args.resources, objects, args.no_clobber, stop);
    let mut names = NamesMemory::default();
    let disk = if args.dry_run { limits.lazy_disk() } else { limits.disk()? };
    let trees = TreeOptions {
        counts_links: args.trees.count_links,
        allows_empty: args.trees.empty.allow_empty,
        ..TreeOptions::beside(&args.output, limits.budget_bytes)
    };
    let ExpandedInputs { files, notices } =
        expand(&args.inputs, trees, &mut names, &*disk, || stop.is_set())?;
    let options = PrefixedOptions { prefix, fields: args.records.keys.clone() };
    let taken_bytes = names.budget_bytes();
    let (cache_size, codec) = (args.cache_size, args.compress);
    let engine = engine_options(&limits, taken_bytes, cache_size, &args.scratch, &args.output);
    let engine = LinesOptions { codec, ..engine };
    if args.dry_run {
        let plan = |engine: &LinesOptions, bytes| plan_prefixed(&options, engine, bytes);
        return print_plan("sort", (&files, &*disk), engine, &args.output, style, plan);
    }
    let meaning = format!("prefixed {options:?}");
    let checkpoint = checkpoint(&args.checkpoints, meaning, (&files, &*disk), &args.output)?;
    let engine = LinesOptions { checkpoint, ..engine };
    let console = Console::new(ConsoleOptions {
        command: "sort",
        style,
        resources: resources(&args.inputs, &args.scratch, &args.output, &limits),
        temperature: limits.temperature.clone(),
        stop: Some(stop),
    });
    limits.notice.iter().chain(&notices).for_each(|line| console.notice(line));
    let inputs = inputs(&files, input_file, &disk, &limits, stop)?;
    let mut stdout = limits.hold_stream(io::stdout());
    let is_stream = is_standard_output(&args.output);
    let output = match is_stream {
        true => SortedOutput::Stream(&mut stdout),
        false => SortedOutput::File { path: &args.output, sync: !args.no_sync },
    };
    let report = sort_prefixed(&options, &engine, inputs, output, &*disk, &console)
        .map_err(|error| limits.add_to(if is_stream { of_stream(error) } else { error }))?;
    disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);
    ResultPrinter::beside(&args.output, style).print("sort", &report)
}

/// Refuses what only sorts of records of one size have.
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
