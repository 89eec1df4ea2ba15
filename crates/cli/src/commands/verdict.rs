//! The result of verify, as text and as JSON. The text is valsort's, for records of any size.

use crate::args::VerifyArgs;
use crate::decimal::Decimal;
use crate::exit::Failure;
use crate::output::{self, ResultPrinter};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;
use xsort_disk::DisplayPath;
use xsort_records::Checksum;

/// The result of verify.
#[derive(Debug, Serialize)]
pub(super) struct Verdict<'a> {
    #[serde(serialize_with = "output::lossy_all")]
    files: &'a [PathBuf],
    /// True if the records are in order, and are the expected ones if any were named.
    ok: bool,
    in_order: bool,
    records: u64,
    checksum: String,
    duplicate_keys: u64,
    unordered_records: u64,
    first_unordered_record: Option<u64>,
    expected: Option<Comparison>,
    against: Option<Comparison>,
    /// Bytes read from all files.
    bytes: u64,
    seconds: f64,
    bytes_per_second: f64,
}

/// What was read of the files to compare with.
pub(super) struct Contents {
    pub(super) bytes: u64,
    pub(super) checksum: Checksum,
}

impl<'a> Verdict<'a> {
    /// Compares what was found with what the arguments expect. The command began at `begin`.
    pub(super) fn new(
        args: &'a VerifyArgs,
        found: xsort::Verdict,
        against: Option<Contents>,
        begin: Instant,
    ) -> Verdict<'a> {
        let seconds = begin.elapsed().as_secs_f64();
        let bytes = found.bytes + against.as_ref().map_or(0, |other| other.bytes);
        let expected = args.expect.map(|sum| Comparison::expected(sum, found.checksum));
        let against =
            against.map(|other| Comparison::against(&args.against, other.checksum, found.checksum));
        let is_same = expected.iter().chain(&against).all(|comparison| comparison.ok);
        Verdict {
            files: &args.files,
            ok: found.is_sorted() && is_same,
            in_order: found.is_sorted(),
            records: found.records,
            checksum: found.checksum.to_string(),
            duplicate_keys: found.duplicates,
            unordered_records: found.unordered,
            first_unordered_record: found.first_unordered,
            expected,
            against,
            bytes,
            seconds,
            bytes_per_second: bytes as f64 / seconds,
        }
    }

    /// Prints the verdict. One that isn't good is a failure.
    pub(super) fn print(&self, mut printer: ResultPrinter) -> Result<(), Failure> {
        printer.print("verify", self)?;
        if self.ok { Ok(()) } else { Err(Failure::Disorder) }
    }
}

/// A comparison with the expected records.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    ok: bool,
    /// The expected number of records, if known.
    records: Option<u64>,
    checksum: String,
    /// Where the expected records are.
    source: String,
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
        if f.alternate() {
            let (bytes, rate) = (Decimal(self.bytes as f64), Decimal(self.bytes_per_second));
            writeln!(f, "{bytes} in {:.2} s, {rate}/s", self.seconds)?;
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
