//! `xsort verify`: checks sorted files, or the summaries of parts that were checked separately.
//!
//! The result goes to standard output (valsort's goes to standard error).

use super::resources::resources_of_reading;
use super::summary_file::SummaryFile;
use super::verdict::{Comparison, Verdict};
use super::verify_prefixed;
use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::inputs::expand::{ExpandedInputs, expand};
use crate::inputs::names_memory::NamesMemory;
use crate::inputs::stdin::{self, StandardInput};
use crate::inputs::tree::TreeOptions;
use crate::job::{Console, ConsoleOptions};
use crate::output::ResultPrinter;
use crate::settings::{self, JobLimits, ReportStyle};
use crate::signals::Stop;
use std::cell::LazyCell;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, is_url};
use xsort_extsort::variable::LinesInput;
use xsort_extsort::{Error, Observer, VerifyOptions, VerifyReport, verify, verify_stream};
use xsort_objects::ObjectUse;
use xsort_records::{Layout, VerifySummary};

/// The limits of the command.
fn limits(args: &VerifyArgs, stop: &Stop) -> JobLimits {
    let objects = ObjectUse::of(args.files.iter().chain(&args.against), args.summary.as_deref());
    JobLimits::decide(&args.resources, objects, false, stop)
}

pub(crate) fn run(args: &VerifyArgs, stop: &Stop) -> Result<(), Failure> {
    if let Some(prefix) = settings::prefix(&args.records) {
        return verify_prefixed::run(args, prefix, stop);
    }
    let style = ReportStyle::decide(&args.report);
    let layout = settings::layout(&args.records)?;
    let begin = Instant::now();
    let Verified { part, bytes, against } = if args.summaries {
        let disk = LazyCell::new(|| limits(args, stop).lazy_disk());
        let part = append_summaries(&args.files, &layout, || Arc::clone(&disk))?;
        Verified { part, bytes: 0, against: None }
    } else {
        verify_files(args, &layout, style, stop)?
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
    // Without a summary on standard output the verdict goes there.
    let beside = args.summary.as_deref().unwrap_or(Path::new(""));
    ResultPrinter::beside(beside, style).print("verify", &verdict)?;
    if verdict.ok { Ok(()) } else { Err(Failure::Disorder) }
}

/// What was found out about the files.
struct Verified {
    part: VerifySummary,
    /// Bytes of the files.
    bytes: u64,
    /// The files to compare with, if any were named.
    against: Option<VerifyReport>,
}

/// Reads the files, and those to compare with; writes the summary if one is wanted.
fn verify_files(
    args: &VerifyArgs,
    layout: &Layout,
    style: ReportStyle,
    stop: &Stop,
) -> Result<Verified, Failure> {
    let reader = Reader::new(args, layout, style, stop)?;
    let budget_bytes = reader.limits.budget_bytes;
    let options = TreeOptions {
        counts_links: args.trees.count_links,
        allows_empty: args.trees.empty.allow_empty,
        budget_bytes,
        ..TreeOptions::default()
    };
    let mut names = NamesMemory::default();
    let mut files_of = |paths| -> Result<Vec<PathBuf>, Failure> {
        let ExpandedInputs { files, notices } =
            expand(paths, options, &mut names, &*reader.disk, || stop.is_set())?;
        notices.iter().for_each(|line| reader.console.notice(line));
        Ok(files)
    };
    stdin::refuse_shared([&args.files, &args.against])?;
    let (files, against) = (files_of(&args.files)?, files_of(&args.against)?);
    let read = || files.iter().chain(&against);
    let summary = args
        .summary
        .as_deref()
        .map(|path| SummaryFile::create(path, read(), &*reader.disk))
        .transpose()?;
    let VerifyReport { part, bytes, .. } = reader.read(&files, &names, true, stop)?;
    let against = if args.against.is_empty() {
        None
    } else {
        Some(reader.read(&against, &names, false, stop)?)
    };
    let part = part.expect("the order was checked");
    summary.map_or(Ok(()), |summary| summary.write(&part.to_bytes()))?;
    Ok(Verified { part, bytes, against })
}

/// Reads files of records, one sequence after the other, with the same settings.
struct Reader<'a> {
    layout: &'a Layout,
    format_is_assumed: bool,
    limits: JobLimits,
    disk: Arc<dyn Disk>,
    console: Console,
}

impl<'a> Reader<'a> {
    fn new(
        args: &VerifyArgs,
        layout: &'a Layout,
        style: ReportStyle,
        stop: &Stop,
    ) -> Result<Reader<'a>, Failure> {
        let limits = limits(args, stop);
        let disk = limits.disk()?;
        let console = Console::new(ConsoleOptions {
            command: "verify",
            style,
            resources: resources_of_reading([&args.files[..], &args.against], &limits),
            temperature: limits.temperature.clone(),
            stop: Some(stop),
        });
        limits.notice.iter().for_each(|line| console.notice(line));
        let format_is_assumed = settings::is_format_assumed(&args.records);
        Ok(Reader { layout, format_is_assumed, limits, disk, console })
    }

    fn read(
        &self,
        files: &[PathBuf],
        names: &NamesMemory,
        order: bool,
        stop: &Stop,
    ) -> Result<VerifyReport, Failure> {
        let (mut files, mut stream) = (files.to_vec(), None);
        if files.iter().any(|path| path.as_os_str() == "-") {
            match StandardInput::open(stop)? {
                StandardInput::File(path) => {
                    files = vec![path];
                    stdin::go_to_end();
                }
                StandardInput::Stream(read) => stream = Some(read),
            }
        }
        let options = VerifyOptions {
            inputs: files,
            layout: self.layout.clone(),
            format_is_assumed: self.format_is_assumed,
            budget_bytes: self.limits.budget_bytes
                - names.budget_bytes().min(self.limits.budget_bytes),
            threads: self.limits.threads,
            order,
        };
        let report = match stream {
            Some(read) => verify_stream(&options, Path::new(stdin::NAME), read, &self.console)?,
            None => verify(&options, &*self.disk, &self.console)?,
        };
        self.disk.notices().iter().for_each(|line| self.console.notice(line));
        Ok(report)
    }
}

/// Standard input, whole.
fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file at a URL, whole.
fn read_url(url: &Path, disk: &Arc<dyn Disk>) -> Result<Vec<u8>, xsort_disk::Error> {
    let mut bytes = Vec::new();
    let read = LinesInput::on(disk, url)?.into_bytes().read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(|error| xsort_disk::Error::of_read(url, error))
}

/// Puts together the parts that the summaries in `files` describe.
fn append_summaries(
    files: &[PathBuf],
    layout: &Layout,
    disk: impl Fn() -> Arc<dyn Disk>,
) -> Result<VerifySummary, Failure> {
    let mut whole = VerifySummary::new(layout);
    for path in files {
        let bad = |reason: String| Failure::Job(Error::Input { path: path.clone(), reason });
        let bytes = match path {
            path if path.as_os_str() == "-" => read_stdin(),
            path if is_url(path) => Ok(read_url(path, &disk())?),
            path => fs::read(path),
        };
        let bytes = bytes.map_err(|error| bad(error.to_string()))?;
        if bytes.is_empty() {
            return Err(bad("it is empty, and no summary; verify -o makes them".into()));
        }
        whole.append_summaries(&bytes).map_err(|error| bad(error.to_string()))?;
    }
    // A file of zeros, or one that was never written, reads as a summary of no records. That proves
    // nothing.
    match files.first() {
        Some(path) if whole.records() == 0 => {
            let reason =
                "the summaries describe no records at all; write them again (verify -o)".into();
            Err(Failure::Job(Error::Input { path: path.clone(), reason }))
        }
        _ => Ok(whole),
    }
}
