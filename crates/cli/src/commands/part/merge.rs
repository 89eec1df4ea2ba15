//! `xsort part merge`. Its failures have fields that a scheduler acts on.

use super::outcome::Outcome;
use super::steps::read_job;
use crate::args::MergeArgs;
use crate::exit::Failure;
use crate::job::{Session, SessionOptions};
use crate::output::ResultPrinter;
use crate::settings::ReportStyle;
use crate::signals::Stop;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};
use xsort_disk::{DisplayPath, is_url};
use xsort_parts::{Error, Means, PartSource, Summary, entries_of, merge_part, write_document};

pub(super) fn run(args: &MergeArgs, stop: &Stop) -> Result<(), Failure> {
    let begin = Instant::now();
    let options = SessionOptions::new("part", &args.resources, &args.report, stop);
    let (job, steps) = read_job(&args.job, options)?;
    let from = sources(args)?;
    let session = Session::begin(SessionOptions {
        read: [&from, &[]],
        scratch: &args.scratch,
        output: Some(&args.output),
        patience: from.iter().any(|from| is_url(from)).then_some(args.give_up_after),
        ..options
    })?;
    let (scratch, sync) = (args.scratch.clone(), !args.no_sync);
    let means = Means { scratch, sync, ..Means::new(&session.job, &session.console) };
    let merge = || -> Result<Summary, Error> {
        let source = |from| {
            let entries = entries_of(&means.job.disk, from, args.part)?;
            Ok(PartSource { origin: from.to_string_lossy().into_owned(), entries })
        };
        let sources = from.iter().map(PathBuf::as_path).map(source);
        let sources = sources.collect::<Result<Vec<_>, Error>>()?;
        let summary = merge_part(&*steps, &job, args.part, &sources, &args.output, &means)?;
        if let Some(path) = &args.summary {
            write_document(&means.job.disk, path, &summary, sync)?;
        }
        Ok(summary)
    };
    let merged = merge().map_err(|error| error.total_from_budget(&session.job));
    let style = session.style;
    let printer = session.end();
    print(&merged.map_err(|error| tell(error, style))?, printer, begin)
}

/// The sources that are named, followed by those in the file.
fn sources(args: &MergeArgs) -> Result<Vec<PathBuf>, Failure> {
    let Some(path) = &args.from_file else { return Ok(args.from.clone()) };
    let text = match path.as_os_str() == "-" {
        true => io::read_to_string(io::stdin()),
        false => fs::read_to_string(path),
    };
    let what = || format!("reading {}", DisplayPath(path));
    let text = text.map_err(|source| Failure::File { what: what(), source })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let sources: Vec<PathBuf> = args.from.iter().cloned().chain(lines.map(Into::into)).collect();
    if sources.is_empty() {
        let reason = format!("{} names no source: --from-file has one a line", DisplayPath(path));
        return Err(Failure::Usage(reason));
    }
    Ok(sources)
}

/// The name of a source, without its secret.
fn shown(from: impl AsRef<Path>) -> String {
    DisplayPath(from).to_string()
}

fn print(summary: &Summary, mut printer: ResultPrinter, begin: Instant) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Merged<'a> {
        #[serde(flatten)]
        summary: &'a Summary,
        seconds: f64,
    }
    let seconds = begin.elapsed().as_secs_f64();
    let Summary { part, records, bytes, .. } = summary;
    let line = format!("part {part}: {records} records, {bytes} bytes in {seconds:.2} s");
    let fields = Merged { summary, seconds };
    printer.print("part merge", &Outcome { fields, line })
}

/// Prints the fields of a failure that a scheduler acts on, if JSON is asked for.
fn tell(error: Error, style: ReportStyle) -> Failure {
    #[derive(Default, Serialize)]
    struct Fields {
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        missing_slices: Option<Vec<usize>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        lost_source: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        damaged_slice: Option<usize>,
    }
    let line = error.to_string();
    let mut fields = Fields { error: line.clone(), ..Fields::default() };
    match &error {
        Error::MissingSlices { slices, .. } => fields.missing_slices = Some(slices.clone()),
        Error::LostSource { origin, .. } => fields.lost_source = Some(shown(origin)),
        Error::DamagedSlice { slice, origin, .. } => {
            (fields.damaged_slice, fields.lost_source) = (Some(*slice), Some(shown(origin)));
        }
        _ => {}
    }
    let printed = match style.json {
        true => ResultPrinter::new(style).print("part merge", &Outcome { fields, line }),
        false => Ok(()),
    };
    printed.err().unwrap_or_else(|| error.into())
}
