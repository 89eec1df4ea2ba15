//! `xsort gen`: makes a file of records.

use crate::args::GenArgs;
use crate::exit::Failure;
use crate::output::{self, Output};
use crate::progress::{Console, Task};
use crate::publish::Uses;
use crate::settings::{self, Allowance, Voice};
use crate::signals::Stop;
use crate::size::{Amount, Decimal};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::time::Instant;
use xsort_disk::Disk;
use xsort_extsort::{GenerateOptions, Observer, generate};
use xsort_records::{GenerateSpec, Generator};

/// The result.
#[derive(Debug, Serialize)]
struct Made<'a> {
    #[serde(serialize_with = "output::lossy")]
    file: &'a Path,
    format: String,
    pattern: String,
    skewed: bool,
    start: u128,
    seed: u64,
    records: u64,
    bytes: u64,
    /// Bytes asked for that were no whole record.
    left_over_bytes: u64,
    checksum: String,
    seconds: f64,
    bytes_per_second: f64,
    threads: usize,
    memory_bytes: u64,
    io: String,
}

pub(crate) fn run(args: &GenArgs, stop: &Stop) -> Result<(), Failure> {
    let voice = Voice::decide(&args.report);
    let record_bytes = args.format.layout().record_bytes();
    let (records, left_over_bytes) = settings::records(args.size, record_bytes);
    if records == 0 && matches!(args.size, Amount::Bytes(1..)) {
        return Err(Failure::Usage(format!(
            "{left_over_bytes} bytes are less than one record of {record_bytes}"
        )));
    }
    let spec = GenerateSpec {
        format: args.format,
        skewed: args.skewed,
        pattern: args.pattern,
        start: args.start,
        seed: args.seed,
        total: records,
    };
    let generator = Generator::new(spec).map_err(|error| Failure::Usage(error.to_string()))?;
    let allowance = Allowance::decide(&args.resources, stop);
    let disk = allowance.disk()?;
    let output = settings::directory_of(&args.file);
    let console = Console::new(Task {
        command: "gen",
        voice,
        uses: Uses {
            directories: vec![(output.clone(), "output")],
            places: vec![output],
            limit_bytes_per_second: allowance.bytes_per_second(),
        },
        limit: allowance.limit.clone(),
        stop: Some(stop),
    });
    allowance.notice.iter().for_each(|line| console.notice(line));

    let options = GenerateOptions {
        generator,
        output: args.file.clone(),
        budget_bytes: allowance.budget_bytes,
        threads: allowance.threads,
        sync: !args.no_sync,
    };
    let begin = Instant::now();
    let report = generate(&options, &disk, &console)?;
    let seconds = begin.elapsed().as_secs_f64();
    disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);

    Output::new(voice).print(
        "gen",
        &Made {
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
            io: disk.describe(),
        },
    )
}

impl fmt::Display for Made<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Records: {}", self.records)?;
        writeln!(f, "Checksum: {}", self.checksum)?;
        if self.left_over_bytes > 0 {
            writeln!(
                f,
                "Whole records only: {} bytes, {} less than asked for",
                self.bytes, self.left_over_bytes
            )?;
        }
        let (bytes, rate) = (Decimal(self.bytes as f64), Decimal(self.bytes_per_second));
        writeln!(
            f,
            "{bytes} in {:.2} s, {rate}/s ({}, {} threads)",
            self.seconds, self.io, self.threads
        )
    }
}
