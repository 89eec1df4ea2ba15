//! `xsort verify`: judges sorted files, or the summaries of parts that were judged elsewhere.
//!
//! The lines are valsort's, for records of any size. They go to standard output, being the result
//! (valsort's go to standard error).

use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::names_memory::NamesMemory;
use crate::output::{self, Output};
use crate::progress::{Console, Task};
use crate::publish::Uses;
use crate::settings::{self, Allowance, Voice};
use crate::signals::Stop;
use crate::summary::Summary;
use crate::trees::{self, Expanded, Rules};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use xsort_disk::{Disk, DisplayPath, OsDisk};
use xsort_extsort::{Error, Observer, VerifyOptions, VerifyReport, verify};
use xsort_records::{Checksum, Layout, VerifySummary};

/// The verdict.
#[derive(Debug, Serialize)]
struct Verdict<'a> {
    #[serde(serialize_with = "output::lossy_all")]
    files: &'a [PathBuf],
    /// In order, and the expected records where any were named.
    ok: bool,
    in_order: bool,
    records: u64,
    checksum: String,
    duplicate_keys: u64,
    unordered_records: u64,
    first_unordered_record: Option<u64>,
    expected: Option<Comparison>,
    against: Option<Comparison>,
    /// Bytes read, of all files.
    bytes: u64,
    seconds: f64,
    bytes_per_second: f64,
}

/// Whether the records are the ones that they should be.
#[derive(Debug, Serialize)]
struct Comparison {
    ok: bool,
    /// How many there should be, if known.
    records: Option<u64>,
    checksum: String,
    /// Whose they are.
    source: String,
}

pub(crate) fn run(args: &VerifyArgs, stop: &Stop) -> Result<(), Failure> {
    let voice = Voice::decide(&args.report);
    let layout = settings::layout(&args.records)?;
    let begin = Instant::now();
    let (part, bytes, against) = if args.summaries {
        (summaries(&args.files, &layout)?, 0, None)
    } else {
        let reader = Reader::new(args, &layout, voice, stop)?;
        let budget_bytes = reader.allowance.budget_bytes;
        let rules = Rules { counts_links: args.trees.count_links, output: None, budget_bytes };
        let mut names = NamesMemory::default();
        let mut files_of = |paths| -> Result<Vec<PathBuf>, Failure> {
            let Expanded { files, notices } =
                trees::expand(paths, rules, &mut names, || stop.is_set())?;
            notices.iter().for_each(|line| reader.console.notice(line));
            Ok(files)
        };
        let (files, against) = (files_of(&args.files)?, files_of(&args.against)?);
        let read = || files.iter().chain(&against);
        let summary = args
            .summary
            .as_deref()
            .map(|path| Summary::create(path, read(), &reader.disk))
            .transpose()?;
        let VerifyReport { part, bytes, .. } = reader.read(&files, &names, true)?;
        let against = if args.against.is_empty() {
            None
        } else {
            Some(reader.read(&against, &names, false)?)
        };
        let part = part.expect("order was asked for");
        summary.map_or(Ok(()), |summary| summary.write(&part.to_bytes()))?;
        (part, bytes, against)
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
    Output::new(voice).print("verify", &verdict)?;
    if verdict.ok { Ok(()) } else { Err(Failure::Disorder) }
}

/// Reads files of records, one sequence after the other, with the same settings.
struct Reader<'a> {
    layout: &'a Layout,
    format_is_assumed: bool,
    allowance: Allowance,
    disk: OsDisk,
    console: Console,
}

impl<'a> Reader<'a> {
    fn new(
        args: &VerifyArgs,
        layout: &'a Layout,
        voice: Voice,
        stop: &Stop,
    ) -> Result<Reader<'a>, Failure> {
        let allowance = Allowance::decide(&args.resources, stop);
        let disk = allowance.disk()?;
        let files = args.files.iter().chain(&args.against);
        let mut directories: Vec<_> =
            files.map(|path| (trees::directory_of(path), "input")).collect();
        directories.dedup();
        let console = Console::new(Task {
            command: "verify",
            voice,
            uses: Uses {
                directories,
                places: Vec::new(),
                limit_bytes_per_second: allowance.bytes_per_second(),
            },
            limit: allowance.limit.clone(),
            stop: Some(stop),
        });
        allowance.notice.iter().for_each(|line| console.notice(line));
        let format_is_assumed = settings::is_format_assumed(&args.records);
        Ok(Reader { layout, format_is_assumed, allowance, disk, console })
    }

    fn read(
        &self,
        files: &[PathBuf],
        names: &NamesMemory,
        order: bool,
    ) -> Result<VerifyReport, Failure> {
        let options = VerifyOptions {
            inputs: files.to_vec(),
            layout: self.layout.clone(),
            format_is_assumed: self.format_is_assumed,
            budget_bytes: self.allowance.budget_bytes
                - names.of_budget().min(self.allowance.budget_bytes),
            threads: self.allowance.threads,
            order,
        };
        let report = verify(&options, &self.disk, &self.console)?;
        self.disk.notices().iter().for_each(|line| self.console.notice(line));
        Ok(report)
    }
}

/// Puts the parts together that the summaries in `files` tell of.
fn summaries(files: &[PathBuf], layout: &Layout) -> Result<VerifySummary, Failure> {
    let mut whole = VerifySummary::new(layout);
    for path in files {
        let bad = |reason: String| Failure::Job(Error::Input { path: path.clone(), reason });
        let bytes = fs::read(path).map_err(|error| bad(error.to_string()))?;
        if bytes.is_empty() {
            return Err(bad("it is empty, and no summary; verify -o makes them".into()));
        }
        whole.append_summaries(&bytes).map_err(|error| bad(error.to_string()))?;
    }
    // What a file of zeros, or one that was never written, would tell of too: no proof of anything.
    match files.first() {
        Some(path) if whole.records() == 0 => {
            let reason =
                "the summaries tell of no records at all; write them again (verify -o)".into();
            Err(Failure::Job(Error::Input { path: path.clone(), reason }))
        }
        _ => Ok(whole),
    }
}

impl Comparison {
    fn expected(sum: u128, found: Checksum) -> Comparison {
        Comparison {
            ok: found.sum() == sum,
            records: None,
            checksum: format!("{sum:x}"),
            source: "expected".into(),
        }
    }

    fn against(files: &[PathBuf], input: Checksum, found: Checksum) -> Comparison {
        let names: Vec<_> = files.iter().map(|path| DisplayPath(path).to_string()).collect();
        Comparison {
            ok: found == input,
            records: Some(input.records()),
            checksum: input.to_string(),
            source: names.join(" "),
        }
    }
}

impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.first_unordered_record {
            writeln!(f, "First unordered record is record {first}")?;
        }
        writeln!(f, "Records: {}", self.records)?;
        writeln!(f, "Checksum: {}", self.checksum)?;
        if self.in_order {
            writeln!(f, "Duplicate keys: {}", self.duplicate_keys)?;
            writeln!(f, "SUCCESS - all records are in order")?;
        } else {
            writeln!(f, "ERROR - there are {} unordered records", self.unordered_records)?;
        }
        for comparison in self.expected.iter().chain(&self.against) {
            writeln!(f, "{comparison}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.records, self.ok) {
            (None, true) => write!(f, "SUCCESS - the checksum is the expected one"),
            (None, false) => write!(f, "ERROR - the expected checksum is {}", self.checksum),
            (Some(_), true) => {
                write!(f, "SUCCESS - records and checksum are those of {}", self.source)
            }
            (Some(records), false) => {
                write!(
                    f,
                    "ERROR - {} has {records} records and checksum {}",
                    self.source, self.checksum
                )
            }
        }
    }
}
