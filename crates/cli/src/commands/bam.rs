//! `xsort bam`: sorts alignments in BAM.

use super::keyed_plan::print_plan;
use crate::args::BamArgs;
use crate::exit::Failure;
use crate::job::{Session, command_line};
use crate::output::{of_stream, refuse_terminal};
use crate::signals::Stop;
use std::io;
use xsort::Bam;
use xsort_disk::is_standard_output;
use xsort_extsort::lines::{LinesInput, SortedOutput};

/// Most words and bytes of the command line in a header.
const WORDS_MAX: usize = 1000;
const LINE_BYTES_MAX: usize = 4000;

pub(crate) fn run(args: &BamArgs, stop: &Stop) -> Result<(), Failure> {
    if !args.dry_run {
        refuse_terminal(&args.output)?;
    }
    let mut session = Session::begin(args.session_options(stop))?;
    let files = session.files(&args.inputs, args.trees())?;
    let words = command_line::arguments(WORDS_MAX, LINE_BYTES_MAX);
    let command = format!("xsort {}", words.get(1..).unwrap_or_default().join(" "));
    let version = env!("CARGO_PKG_VERSION");
    let sort = Bam::files(&files)
        .order(args.by)
        .when(args.merge, Bam::merge)
        .when(!args.no_pg, |sort| sort.program(version, &command))
        .compress(args.compress)
        .scratch(&args.scratch);
    let sort = match args.write_index {
        Some(form) => sort.write_index(form),
        None => sort,
    };
    let path = &args.output;
    if args.dry_run {
        let plan = sort.plan_in(&session.job, path)?;
        return print_plan(session, plan, files.len(), &args.scratch, path);
    }
    let inputs = session.inputs(&files, LinesInput::at)?;
    let mut stdout = session.job.hold_stream(io::stdout());
    let is_stream = is_standard_output(path);
    let output = match is_stream {
        true => SortedOutput::Stream(&mut stdout),
        false => SortedOutput::File { path, sync: !args.no_sync },
    };
    let Session { job, console, .. } = &mut session;
    let report = sort
        .run_in(job, console, inputs, path, output)
        .map_err(|error| if is_stream { of_stream(error) } else { error })?;
    session.end().print("bam", &report)
}
