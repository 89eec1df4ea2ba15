//! `xsort verify`: checks sorted files, or the summaries of parts that were checked separately.
//!
//! The result goes to standard output (valsort's goes to standard error).

use super::summary_file::SummaryFile;
use super::verdict::{Contents, Verdict};
use super::{columns, verify_prefixed};
use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::inputs::stdin;
use crate::job::Session;
use crate::output::ResultPrinter;
use crate::settings::{self, ReportStyle};
use crate::signals::Stop;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use xsort::{Reading, Verify};
use xsort_disk::{Disk, is_url};
use xsort_extsort::lines::LinesInput;
use xsort_extsort::{Error, VerifyReport};
use xsort_records::{Layout, VerifySummary};

pub(crate) fn run(args: &VerifyArgs, stop: &Stop) -> Result<(), Failure> {
    if !args.by.is_empty() {
        return columns::verify(args, stop);
    }
    if let Some(prefix) = settings::prefix(&args.records) {
        return verify_prefixed::run(args, prefix, stop);
    }
    let layout = settings::layout(&args.records)?;
    let begin = Instant::now();
    let style = ReportStyle::decide(&args.report);
    let (verdict, printer) = if args.summaries {
        args.session_options(stop).refuse_files()?;
        let job = args.session_options(stop).job(None)?;
        let part = append_summaries(&args.files, &layout, &job.disk)?;
        let verdict = Verdict::new(args, xsort::Verdict::of_records(&part, 0), None, begin);
        (verdict, ResultPrinter::new(style))
    } else {
        verify_files(args, layout, stop, begin)?
    };
    verdict.print(printer)
}

/// Reads the files and those to compare with. Writes the summary if the arguments ask for one.
fn verify_files<'a>(
    args: &'a VerifyArgs,
    layout: Layout,
    stop: &Stop,
    begin: Instant,
) -> Result<(Verdict<'a>, ResultPrinter), Failure> {
    let mut session = Session::begin(args.session_options(stop))?;
    stdin::refuse_shared([&args.files, &args.against])?;
    let files = session.files(&args.files, args.trees())?;
    let against = session.files(&args.against, args.trees())?;
    let disk = Arc::clone(&session.job.disk);
    let summary = args
        .summary
        .as_deref()
        .map(|path| SummaryFile::create(path, files.iter().chain(&against), &*disk))
        .transpose()?;
    let is_known = !settings::is_format_assumed(&args.records);
    let verify = Verify::files(&args.files).when(is_known, |verify| verify.layout(layout));
    let read = |files, reading| -> Result<VerifyReport, Failure> {
        let (files, stream) = stdin::replace_stdin(files, false, stop)?;
        Ok(verify.records_in(&session.job, &session.console, files, stream, reading)?)
    };
    let VerifyReport { part, bytes, .. } = read(files, Reading::Order)?;
    let against = match args.against.is_empty() {
        true => None,
        false => Some(read(against, Reading::Checksum)?),
    };
    let part = part.expect("the order was checked");
    summary.map_or(Ok(()), |summary| summary.write(&part.to_bytes()))?;
    // Without a summary on standard output, the verdict goes there.
    let printer = session.end();
    let against = against.map(|VerifyReport { bytes, checksum, .. }| Contents { bytes, checksum });
    Ok((Verdict::new(args, xsort::Verdict::of_records(&part, bytes), against, begin), printer))
}

/// Reads all of standard input.
fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file at a URL.
fn read_url(url: &Path, disk: &Arc<dyn Disk>) -> Result<Vec<u8>, xsort_disk::Error> {
    let mut bytes = Vec::new();
    let read = LinesInput::on(disk, url)?.into_bytes().read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(|error| xsort_disk::Error::of_read(url, error))
}

/// Combines the parts that the summaries in `files` describe.
fn append_summaries(
    files: &[PathBuf],
    layout: &Layout,
    disk: &Arc<dyn Disk>,
) -> Result<VerifySummary, Failure> {
    let mut whole = VerifySummary::new(layout);
    for path in files {
        let bad = |reason: String| Failure::Job(Error::Input { path: path.clone(), reason });
        let bytes = match path {
            path if path.as_os_str() == "-" => read_stdin(),
            path if is_url(path) => Ok(read_url(path, disk)?),
            path => fs::read(path),
        };
        let bytes = bytes.map_err(|error| bad(error.to_string()))?;
        if bytes.is_empty() {
            return Err(bad("it is empty, and no summary; verify -o makes them".into()));
        }
        whole.append_summaries(&bytes).map_err(|error| bad(error.to_string()))?;
    }
    // A file of zeros, or one that was never written, is read as a summary of no records, which
    // proves nothing.
    match files.first() {
        Some(path) if whole.records() == 0 => {
            let reason =
                "the summaries describe no records at all; write them again (verify -o)".into();
            Err(Failure::Job(Error::Input { path: path.clone(), reason }))
        }
        _ => Ok(whole),
    }
}
