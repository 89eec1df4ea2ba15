//! `xsort verify`: checks sorted files, or the summaries of parts that were checked separately.
//!
//! The result goes to standard output (valsort's goes to standard error).

use super::summary_file::SummaryFile;
use super::verdict::{Comparison, Verdict};
use super::verify_prefixed;
use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::inputs::stdin::{self, StandardInput};
use crate::job::Session;
use crate::output::ResultPrinter;
use crate::settings::{self, ReportStyle};
use crate::signals::Stop;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, is_url};
use xsort_extsort::lines::LinesInput;
use xsort_extsort::{Error, VerifyOptions, VerifyReport, verify, verify_stream};
use xsort_records::{Layout, VerifySummary};

pub(crate) fn run(args: &VerifyArgs, stop: &Stop) -> Result<(), Failure> {
    if let Some(prefix) = settings::prefix(&args.records) {
        return verify_prefixed::run(args, prefix, stop);
    }
    let layout = settings::layout(&args.records)?;
    let begin = Instant::now();
    let Verified { part, bytes, against } = if args.summaries {
        let job = args.session_options(stop).job(None)?;
        let part = append_summaries(&args.files, &layout, &job.disk)?;
        Verified { part, bytes: 0, against: None }
    } else {
        verify_files(args, &layout, stop)?
    };
    let seconds = begin.elapsed().as_secs_f64();
    let bytes = bytes + against.as_ref().map_or(0, |report| report.bytes);

    let expected = args.expect.map(|sum| Comparison::expected(sum, part.checksum()));
    let against =
        against.map(|report| Comparison::against(&args.against, report.checksum, part.checksum()));
    let verdict = Verdict {
        files: &args.files,
        ok: part.is_sorted() && expected.iter().chain(&against).all(|comparison| comparison.ok),
        in_order: part.is_sorted(),
        records: part.records(),
        checksum: part.checksum().to_string(),
        duplicate_keys: part.duplicates(),
        unordered_records: part.unordered(),
        first_unordered_record: part.first_unordered(),
        expected,
        against,
        bytes,
        seconds,
        bytes_per_second: bytes as f64 / seconds,
    };
    // Without a summary on standard output, the verdict goes there.
    let beside = args.summary.as_deref().unwrap_or(Path::new(""));
    let style = ReportStyle::decide(&args.report);
    ResultPrinter::beside(beside, style).print("verify", &verdict)?;
    if verdict.ok { Ok(()) } else { Err(Failure::Disorder) }
}

/// The results of reading the files.
struct Verified {
    part: VerifySummary,
    /// The total size of the files in bytes.
    bytes: u64,
    /// The result for the files to compare with, if any were named.
    against: Option<VerifyReport>,
}

/// Reads the files and those to compare with. Writes the summary if the arguments ask for one.
fn verify_files(args: &VerifyArgs, layout: &Layout, stop: &Stop) -> Result<Verified, Failure> {
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
    let format_is_assumed = settings::is_format_assumed(&args.records);
    let read =
        |files: Vec<PathBuf>, order| read(&session, (layout, format_is_assumed), files, order);
    let VerifyReport { part, bytes, .. } = read(files, true)?;
    let against = if args.against.is_empty() { None } else { Some(read(against, false)?) };
    let part = part.expect("the order was checked");
    summary.map_or(Ok(()), |summary| summary.write(&part.to_bytes()))?;
    session.end();
    Ok(Verified { part, bytes, against })
}

/// Reads files of records as one sequence.
fn read(
    session: &Session<'_>,
    (layout, format_is_assumed): (&Layout, bool),
    mut files: Vec<PathBuf>,
    order: bool,
) -> Result<VerifyReport, Failure> {
    let mut stream = None;
    if files.iter().any(|path| path.as_os_str() == "-") {
        match session.standard_input()? {
            StandardInput::File(path) => {
                files = vec![path];
                stdin::go_to_end();
            }
            StandardInput::Stream(read) => stream = Some(read),
        }
    }
    let options = VerifyOptions {
        inputs: files,
        layout: layout.clone(),
        format_is_assumed,
        budget_bytes: session.job.data_bytes(),
        threads: session.job.threads(),
        order,
    };
    let report = match stream {
        Some(read) => verify_stream(&options, Path::new(stdin::NAME), read, &session.console),
        None => verify(&options, &*session.job.disk, &session.console),
    };
    Ok(report.map_err(|error| session.job.total_from_data(error))?)
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
