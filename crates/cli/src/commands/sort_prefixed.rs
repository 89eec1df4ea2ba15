//! `xsort sort --record prefixed:TYPE`: sorts records that begin with their length.

use super::resources::resources;
use super::stream_inputs::inputs;
use crate::args::SortArgs;
use crate::exit::Failure;
use crate::inputs::expand::{ExpandedInputs, expand};
use crate::inputs::names_memory::NamesMemory;
use crate::inputs::tree::{TreeOptions, identity};
use crate::job::{Console, ConsoleOptions};
use crate::output::{ResultPrinter, of_stream, refuse_terminal};
use crate::settings::{JobLimits, ReportStyle};
use crate::signals::Stop;
use std::fs;
use std::io;
use xsort::machine::caches;
use xsort_disk::{Disk, is_standard_output};
use xsort_extsort::fixed::Method;
use xsort_extsort::keyed::KeyedOutput;
use xsort_extsort::prefixed::{PrefixedOptions, input_file, sort_prefixed};
use xsort_extsort::{LinesOptions, Observer, scratch_directories};
use xsort_records::Prefix;

pub(super) fn run(args: &SortArgs, prefix: Prefix, stop: &Stop) -> Result<(), Failure> {
    refuse_options(args, prefix)?;
    let style = ReportStyle::decide(&args.report);
    refuse_terminal(&args.output)?;
    let limits = JobLimits::decide(&args.resources, stop);
    let mut names = NamesMemory::default();
    let trees = TreeOptions {
        counts_links: args.trees.count_links,
        output: fs::metadata(&args.output).ok().map(|metadata| identity(&metadata)),
        budget_bytes: limits.budget_bytes,
    };
    let ExpandedInputs { files, notices } =
        expand(&args.inputs, trees, &mut names, || stop.is_set())?;
    let disk = limits.disk()?;
    let console = Console::new(ConsoleOptions {
        command: "sort",
        style,
        resources: resources(&args.inputs, &args.scratch, &args.output, &limits),
        temperature: limits.temperature.clone(),
        stop: Some(stop),
    });
    limits.notice.iter().chain(&notices).for_each(|line| console.notice(line));
    let inputs = inputs(&files, input_file, &limits, stop)?;

    let options = PrefixedOptions { prefix, fields: args.records.keys.clone() };
    let engine = engine_options(args, &limits, &names);
    let mut stdout = limits.hold_stream(io::stdout());
    let is_stream = is_standard_output(&args.output);
    let output = match is_stream {
        true => KeyedOutput::Stream(&mut stdout),
        false => KeyedOutput::File(&args.output),
    };
    let report = sort_prefixed(&options, &engine, inputs, output, &disk, &console)
        .map_err(|error| names.add_to(if is_stream { of_stream(error) } else { error }))?;
    disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);
    ResultPrinter::beside(&args.output, style).print("sort", &report)
}

fn engine_options(args: &SortArgs, limits: &JobLimits, names: &NamesMemory) -> LinesOptions {
    LinesOptions {
        delimiter: 0,
        is_unique: false,
        budget_bytes: limits.budget_bytes - names.budget_bytes().min(limits.budget_bytes),
        taken_bytes: 0,
        threads: limits.threads,
        caches: caches(args.cache_size),
        scratch: scratch_directories(&args.scratch, &args.output),
        codec: None,
        output_file: None,
        checkpoint: None,
    }
}

/// Refuses what only sorts of records of one size have.
fn refuse_options(args: &SortArgs, prefix: Prefix) -> Result<(), Failure> {
    let is_resumable = args.checkpoints.checkpoint().is_some();
    let unsuitable = [
        (is_resumable, "--checkpoint, --resume and --restart", "leave it out, and sort anew"),
        (args.remove_input, "--remove-input", "remove the inputs once the sort is done"),
        (args.dry_run, "--dry-run", "give -m, which is never exceeded, and -T for scratch"),
        (args.probe, "--probe", "leave it out"),
        (args.no_sync, "--no-sync", "leave it out"),
        (args.method == Method::Scatter, "--method scatter", "leave it out: runs are merged"),
    ];
    match unsuitable.iter().find(|(is_given, ..)| *is_given) {
        None => Ok(()),
        Some((_, option, way_out)) => Err(Failure::Usage(format!(
            "{option}: only for records of one size, not for --record {prefix}: {way_out}"
        ))),
    }
}
