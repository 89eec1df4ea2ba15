//! `xsort verify --record prefixed:TYPE`: checks files of records that begin with their length.

use super::resources::resources_of_reading;
use super::stream_inputs::inputs;
use super::verdict::{Comparison, Verdict};
use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::inputs::expand::{ExpandedInputs, expand};
use crate::inputs::names_memory::NamesMemory;
use crate::inputs::stdin::refuse_shared;
use crate::inputs::tree::TreeOptions;
use crate::job::{Console, ConsoleOptions};
use crate::output::ResultPrinter;
use crate::settings::{JobLimits, ReportStyle};
use crate::signals::Stop;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xsort_disk::IoChoice;
use xsort_extsort::prefixed::input_file;
use xsort_extsort::variable::{LinesInput, total_bytes};
use xsort_extsort::{Observer, PrefixedVerifyOptions, verify_prefixed};
use xsort_objects::ObjectUse;
use xsort_records::{Prefix, VaryingSummary};

pub(super) fn run(args: &VerifyArgs, prefix: Prefix, stop: &Stop) -> Result<(), Failure> {
    refuse_options(args, prefix)?;
    refuse_shared([&args.files, &args.against])?;
    let style = ReportStyle::decide(&args.report);
    let objects = ObjectUse::of(args.files.iter().chain(&args.against), None);
    let limits = JobLimits::decide(&args.resources, objects, false, stop);
    let begin = Instant::now();
    let console = Console::new(ConsoleOptions {
        command: "verify",
        style,
        resources: resources_of_reading([&args.files, &args.against], &limits),
        temperature: limits.temperature.clone(),
        stop: Some(stop),
    });
    limits.notice.iter().for_each(|line| console.notice(line));

    let mut names = NamesMemory::default();
    let disk = limits.lazy_disk();
    let mut inputs_of = |paths: &[PathBuf]| {
        let trees = TreeOptions {
            counts_links: args.trees.count_links,
            allows_empty: args.trees.empty.allow_empty,
            budget_bytes: limits.budget_bytes,
            ..TreeOptions::default()
        };
        let ExpandedInputs { files, notices } =
            expand(paths, trees, &mut names, &*disk, || stop.is_set())?;
        notices.iter().for_each(|line| console.notice(line));
        inputs(&files, input_file, &disk, &limits, stop)
    };
    let (files, others) = (inputs_of(&args.files)?, inputs_of(&args.against)?);
    let options = PrefixedVerifyOptions {
        prefix,
        fields: args.records.keys.clone(),
        budget_bytes: limits.budget_bytes - names.budget_bytes().min(limits.budget_bytes),
    };
    let (found, bytes) = judge("verify", &options, files, &console)?;
    let against = match args.against.is_empty() {
        true => None,
        false => Some(judge("checksum", &options, others, &console)?),
    };
    drop(console);
    report(args, style, &found, bytes, against, begin)
}

/// What records these are, and how many bytes they have.
fn judge(
    phase: &str,
    options: &PrefixedVerifyOptions,
    inputs: Vec<LinesInput>,
    observer: &dyn Observer,
) -> Result<(VaryingSummary, u64), Failure> {
    let bytes = total_bytes(&inputs);
    observer.phase(phase, bytes.unwrap_or(0));
    let read = inputs.into_iter().map(|input| (input.path.clone(), input.into_bytes()));
    Ok(verify_prefixed(options, read, observer)?)
}

/// Prints the verdict.
fn report(
    args: &VerifyArgs,
    style: ReportStyle,
    found: &VaryingSummary,
    bytes: u64,
    against: Option<(VaryingSummary, u64)>,
    begin: Instant,
) -> Result<(), Failure> {
    let seconds = begin.elapsed().as_secs_f64();
    let bytes = bytes + against.as_ref().map_or(0, |(_, bytes)| *bytes);
    let expected = args.expect.map(|sum| Comparison::expected(sum, found.checksum()));
    let against = against
        .map(|(other, _)| Comparison::against(&args.against, other.checksum(), found.checksum()));
    let in_order = found.unordered() == 0;
    let verdict = Verdict {
        files: &args.files,
        ok: in_order && expected.iter().chain(&against).all(|comparison| comparison.ok),
        in_order,
        records: found.records(),
        checksum: found.checksum().to_string(),
        duplicate_keys: found.duplicates(),
        unordered_records: found.unordered(),
        first_unordered_record: found.first_unordered(),
        expected,
        against,
        bytes,
        seconds,
        bytes_per_second: bytes as f64 / seconds,
    };
    ResultPrinter::beside(Path::new(""), style).print("verify", &verdict)?;
    if verdict.ok { Ok(()) } else { Err(Failure::Disorder) }
}

/// Refuses what only records of one size have.
fn refuse_options(args: &VerifyArgs, prefix: Prefix) -> Result<(), Failure> {
    let unsuitable = [
        (args.summary.is_some(), "--summary", "check all files in one command"),
        (args.summaries, "--summaries", "check all files in one command"),
        (args.resources.io != IoChoice::Auto, "--io", "leave it out: one thread reads"),
    ];
    match unsuitable.iter().find(|(is_given, ..)| *is_given) {
        None => Ok(()),
        Some((_, option, way_out)) => Err(Failure::Usage(format!(
            "{option}: only for records of one size, not for --record {prefix}: {way_out}"
        ))),
    }
}
