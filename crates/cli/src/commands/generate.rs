//! `xsort gen`: generates a file of records.

use crate::args::GenArgs;
use crate::decimal::Decimal;
use crate::exit::Failure;
use crate::job::Session;
use crate::output::{self, refuse_terminal};
use crate::settings;
use crate::signals::Stop;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::time::Instant;
use xsort::size::Amount;
use xsort::{Generate, GenerateReport};
use xsort_disk::{Disk, DisplayPath, is_standard_output};
use xsort_extsort::units::{Bytes, Count};
use xsort_records::GenerateSpec;

/// The result that the command prints.
#[derive(Debug, Serialize)]
struct GenResult<'a> {
    #[serde(serialize_with = "output::lossy")]
    file: &'a Path,
    format: String,
    pattern: String,
    skewed: bool,
    start: u128,
    seed: u64,
    records: u64,
    bytes: u64,
    /// Bytes of the requested size beyond the last whole record.
    left_over_bytes: u64,
    checksum: String,
    seconds: f64,
    bytes_per_second: f64,
    threads: usize,
    memory_bytes: u64,
    io: String,
}

/// The plan that `--dry-run` prints.
#[derive(Debug, Serialize)]
struct GenPlan<'a> {
    #[serde(serialize_with = "output::lossy")]
    file: &'a Path,
    format: String,
    records: u64,
    bytes: u64,
    left_over_bytes: u64,
    /// Free bytes of the file's drive; `None` for standard output and URLs.
    free_bytes: Option<u64>,
}

pub(crate) fn run(args: &GenArgs, stop: &Stop) -> Result<(), Failure> {
    if !args.dry_run {
        refuse_terminal(&args.file)?;
    }
    let record_bytes = args.format.layout().record_bytes();
    let (records, left_over_bytes) = settings::records(args.size, record_bytes);
    if records == 0 && matches!(args.size, Amount::Bytes(1..)) {
        return Err(Failure::Usage(format!(
            "{left_over_bytes} bytes are less than one record of {record_bytes}"
        )));
    }
    let generate = Generate::with_spec(GenerateSpec {
        format: args.format,
        skewed: args.skewed,
        pattern: args.pattern,
        start: args.start,
        seed: args.seed,
        total: records,
    })
    .when(args.no_sync, Generate::no_sync);
    generate.generator()?;
    let session = Session::begin(args.session_options(stop))?;
    let job = &session.job;
    if args.dry_run {
        let plan = GenPlan::new(args, records, left_over_bytes, &*job.disk)?;
        let requests = job.requests([], (&args.file, plan.bytes), 0);
        return session.end_plan().print_plan("gen", &plan, requests);
    }
    let begin = Instant::now();
    let report = generate.run_in(job, &session.console, &args.file)?;
    let seconds = begin.elapsed().as_secs_f64();
    let result = GenResult::new(args, &report, &*job.disk, left_over_bytes, seconds);
    session.end().print("gen", &result)
}

impl<'a> GenPlan<'a> {
    fn new(
        args: &'a GenArgs,
        records: u64,
        left_over_bytes: u64,
        disk: &dyn Disk,
    ) -> Result<GenPlan<'a>, Failure> {
        let directory = settings::output_directories(&args.file).pop();
        let drive = directory.map(|directory| disk.drive(&directory)).transpose()?;
        let record_bytes = args.format.layout().record_bytes() as u64;
        Ok(GenPlan {
            file: &args.file,
            format: args.format.to_string(),
            records,
            bytes: records.saturating_mul(record_bytes),
            left_over_bytes,
            free_bytes: drive.map(|drive| drive.free_bytes),
        })
    }
}

impl fmt::Display for GenPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (records, bytes) = (Count(self.records, "record"), Decimal(self.bytes as f64));
        write!(f, "{records} ({}), {bytes}, in {}", self.format, DisplayPath(self.file))?;
        match self.free_bytes {
            Some(free) => writeln!(f, ", where {} are free", Decimal(free as f64)),
            None => writeln!(f),
        }
    }
}

impl<'a> GenResult<'a> {
    fn new(
        args: &'a GenArgs,
        report: &GenerateReport,
        disk: &dyn Disk,
        left_over_bytes: u64,
        seconds: f64,
    ) -> GenResult<'a> {
        GenResult {
            file: &args.file,
            format: args.format.to_string(),
            pattern: args.pattern.to_string(),
            skewed: args.skewed,
            start: args.start,
            seed: args.seed,
            records: report.records,
            bytes: report.bytes,
            left_over_bytes,
            checksum: report.checksum.to_string(),
            seconds,
            bytes_per_second: report.bytes as f64 / seconds,
            threads: report.threads,
            memory_bytes: report.memory_bytes,
            io: if is_standard_output(&args.file) {
                "standard output".to_owned()
            } else {
                disk.describe()
            },
        }
    }
}

impl fmt::Display for GenResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Records: {}", self.records)?;
        writeln!(f, "Checksum: {}", self.checksum)?;
        if self.left_over_bytes > 0 {
            writeln!(
                f,
                "Whole records only: {} bytes, {} less than requested",
                self.bytes, self.left_over_bytes
            )?;
        }
        let (bytes, rate) = (Decimal(self.bytes as f64), Decimal(self.bytes_per_second));
        write!(f, "{bytes} in {:.2} s, {rate}/s", self.seconds)?;
        if f.alternate() {
            let threads = Count(self.threads as u64, "thread");
            write!(f, "\n{}, {threads}, {} of memory", self.io, Bytes(self.memory_bytes))?;
        }
        writeln!(f)
    }
}
