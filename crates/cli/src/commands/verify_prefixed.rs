//! `xsort verify --record prefixed:TYPE`: checks files of records that begin with their length.

use super::verdict::{Comparison, Verdict};
use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::inputs::stdin::refuse_shared;
use crate::job::Session;
use crate::output::ResultPrinter;
use crate::signals::Stop;
use std::path::PathBuf;
use std::time::Instant;
use xsort_disk::IoChoice;
use xsort_extsort::lines::{LinesInput, total_bytes};
use xsort_extsort::prefixed::input_file;
use xsort_extsort::{Observer, PrefixedVerifyOptions, verify_prefixed};
use xsort_records::{Prefix, VaryingSummary};

pub(super) fn run(args: &VerifyArgs, prefix: Prefix, stop: &Stop) -> Result<(), Failure> {
    refuse_options(args, prefix)?;
    refuse_shared([&args.files, &args.against])?;
    let begin = Instant::now();
    let mut session = Session::begin(args.session_options(stop))?;
    let mut inputs_of = |paths: &[PathBuf]| {
        let files = session.files(paths, args.trees())?;
        session.inputs(&files, input_file)
    };
    let (files, others) = (inputs_of(&args.files)?, inputs_of(&args.against)?);
    let options = PrefixedVerifyOptions {
        prefix,
        fields: args.records.keys.clone(),
        budget_bytes: session.job.data_bytes(),
    };
    let (found, bytes) = judge("verify", &options, files, &session.console)?;
    let against = match args.against.is_empty() {
        true => None,
        false => Some(judge("checksum", &options, others, &session.console)?),
    };
    report(args, session.end(), &found, bytes, against, begin)
}

/// Reads the records. Returns their summary, and their size in bytes.
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
    printer: ResultPrinter,
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
    printer.print("verify", &verdict)?;
    if verdict.ok { Ok(()) } else { Err(Failure::Disorder) }
}

/// Refuses options that only records of one size support.
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
