//! The result of verify, as text and as JSON. The text is valsort's, for records of any size.

use crate::decimal::Decimal;
use crate::output;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use xsort_disk::DisplayPath;
use xsort_records::Checksum;

/// The result of verify.
#[derive(Debug, Serialize)]
pub(super) struct Verdict<'a> {
    #[serde(serialize_with = "output::lossy_all")]
    pub(super) files: &'a [PathBuf],
    /// True if the records are in order, and are the expected ones if any were named.
    pub(super) ok: bool,
    pub(super) in_order: bool,
    pub(super) records: u64,
    pub(super) checksum: String,
    pub(super) duplicate_keys: u64,
    pub(super) unordered_records: u64,
    pub(super) first_unordered_record: Option<u64>,
    pub(super) expected: Option<Comparison>,
    pub(super) against: Option<Comparison>,
    /// Bytes read from all files.
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) bytes_per_second: f64,
}

/// A comparison with the expected records.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) ok: bool,
    /// The expected number of records, if known.
    records: Option<u64>,
    checksum: String,
    /// Where the expected records are.
    source: String,
}

impl Comparison {
    pub(super) fn expected(sum: u128, found: Checksum) -> Comparison {
        Comparison {
            ok: found.sum() == sum,
            records: None,
            checksum: format!("{sum:x}"),
            source: "expected".into(),
        }
    }

    pub(super) fn against(files: &[PathBuf], input: Checksum, found: Checksum) -> Comparison {
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
