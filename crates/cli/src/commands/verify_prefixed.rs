//! `xsort verify --record prefixed:TYPE`: checks files of records that begin with their length.

use super::verdict::{Contents, Verdict};
use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::inputs::stdin::refuse_shared;
use crate::job::Session;
use crate::signals::Stop;
use std::path::PathBuf;
use std::time::Instant;
use xsort::{Reading, Verify};
use xsort_disk::IoChoice;
use xsort_extsort::PrefixedVerifyReport;
use xsort_extsort::prefixed::input_file;
use xsort_records::Prefix;

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
    let verify = Verify::files(&args.files).prefixed(prefix, args.records.keys.iter().cloned());
    let Session { job, console, .. } = &session;
    let found = verify.prefixed_in(job, console, files, Reading::Order)?;
    let against = match args.against.is_empty() {
        true => None,
        false => Some(verify.prefixed_in(job, console, others, Reading::Checksum)?),
    };
    let against = against.map(|PrefixedVerifyReport { summary, bytes }| Contents {
        bytes,
        checksum: summary.checksum(),
    });
    let printer = session.end();
    Verdict::new(args, xsort::Verdict::of_prefixed(&found), against, begin).print(printer)
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
