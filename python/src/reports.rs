//! Reports as Python objects. Their fields have the names and units of the program's `--json`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Defines a class of reports: immutable, with all fields readable from Python, a `repr`, and a
/// dictionary. A field without a value is the engine's field of this name.
macro_rules! report {
    (
        $(#[$about:meta])*
        $name:ident from $report:ident: $source:ty $(, $argument:ident: $given:ty)* {
            $($(#[$doc:meta])* $field:ident: $type:ty $(= $value:expr)?,)+
        }
        $($rest:tt)*
    ) => {
        $(#[$about])*
        #[pyclass(frozen, get_all, eq, module = "xsort")]
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name { $($(#[$doc])* pub(crate) $field: $type,)+ }

        impl $name {
            pub(crate) fn new($report: $source $(, $argument: $given)*) -> $name {
                $name { $($field: value!($report.$field $(= $value)?),)+ }
            }
        }

        #[pymethods]
        impl $name {
            /// All fields, by their names.
            fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                let fields = PyDict::new(py);
                $(fields.set_item(stringify!($field), self.$field.clone())?;)+
                Ok(fields)
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let text = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                    Ok(format!("{name}={}", value.repr()?))
                };
                let fields: PyResult<Vec<_>> = self.as_dict(py)?.into_iter().map(text).collect();
                Ok(format!("{}({})", stringify!($name), fields?.join(", ")))
            }

            $($rest)*
        }
    };
}

/// The value of a field: the one that is given, or the engine's.
macro_rules! value {
    ($report:ident.$field:ident) => {
        $report.$field
    };
    ($report:ident.$field:ident = $value:expr) => {
        $value
    };
}

report! {
    /// What a sort of records did.
    SortReport from report: &xsort::SortReport, notices: Vec<String> {
        /// Records sorted; counted on the way in and on the way out.
        records: u64,
        /// Their size in bytes.
        bytes: u64,
        /// The sum of the CRC-32 of all records, in hexadecimal.
        checksum: String = report.checksum.clone(),
        /// From start to end on the wall clock.
        seconds: f64,
        /// Input bytes a second.
        bytes_per_second: f64,
        /// Threads that worked.
        threads: usize,
        /// Bytes of memory that the plan takes.
        memory_bytes: u64,
        /// Bytes that went to scratch.
        scratch_bytes: u64 = report.scratch.iter().map(|(_, bytes)| bytes).sum(),
        /// What a user should know: less memory than asked for, and the like.
        notices: Vec<String> = notices,
        /// All figures as JSON: what the program prints with --json.
        json: String = serde_json::to_string(report).unwrap_or_default(),
    }
}

impl SortReport {
    /// The report of a sort of prefixed records.
    pub(crate) fn of_prefixed(report: xsort::KeyedReport, notices: Vec<String>) -> SortReport {
        let json = serde_json::to_string(&report).unwrap_or_default();
        SortReport {
            records: report.counted.count(),
            bytes: report.bytes,
            // The checksum is missing only after a resumed checkpoint.
            checksum: report.checksum.unwrap_or_default(),
            seconds: report.seconds,
            bytes_per_second: report.bytes_per_second,
            threads: report.threads,
            memory_bytes: report.memory_bytes,
            scratch_bytes: report.scratch_bytes,
            notices,
            json,
        }
    }
}

report! {
    /// What a sort of lines did.
    LinesReport from report: &xsort::LinesReport, notices: Vec<String> {
        /// Lines read.
        lines: u64,
        /// Bytes read, with the line ends that were missing.
        bytes: u64,
        /// Bytes written: fewer if duplicates were dropped.
        written_bytes: u64,
        /// The sum of the hashes of all lines, in hexadecimal.
        checksum: Option<String> = report.checksum.map(|sum| format!("{sum:016x}")),
        /// Lines that came too late and went to the file of `late`; None without `late`.
        late_lines: Option<u64>,
        /// From the first read to the last write.
        seconds: f64,
        /// Sorted runs that were formed.
        runs: usize,
        /// Bytes of lines that were spilled.
        spilled_bytes: u64,
        /// Bytes that were written to scratch for them.
        scratch_bytes: u64,
        /// What a user should know.
        notices: Vec<String> = notices,
    }
}

report! {
    /// What a sort of rows did.
    TableReport from report: xsort::KeyedReport, notices: Vec<String> {
        /// Rows read, without headers.
        rows: u64 = report.counted.count(),
        /// Their bytes, with the line ends that were missing.
        bytes: u64,
        /// Bytes written, the header included, before they are compressed.
        written_bytes: u64,
        /// A sum over all rows with their keys, in hexadecimal.
        checksum: Option<String>,
        /// Rows with a value that isn't of its column's type; None if these are an error.
        bad_rows: Option<u64>,
        /// Rows that came too late and went to the file of `late`; None without `late`.
        late_rows: Option<u64>,
        /// From the first read to the last write.
        seconds: f64,
        /// Bytes a second.
        bytes_per_second: f64,
        /// Threads that sorted and merged.
        threads: usize,
        /// Memory that was used, in bytes.
        memory_bytes: u64,
        /// Sorted runs that were formed.
        runs: usize,
        /// Bytes that were spilled, with the keys.
        spilled_bytes: u64,
        /// Bytes that were written to scratch for them.
        scratch_bytes: u64,
        /// What a user should know.
        notices: Vec<String> = notices,
    }
}

report! {
    /// What a sort of Arrow batches did.
    BatchesReport from report: &xsort_arrow::BatchReport, notices: Vec<String> {
        /// Rows that were read, and came out.
        rows: u64,
        /// Batches that came out.
        batches: u64,
        /// The sum of the hashes of all rows with their keys, in hexadecimal, if they did not stay
        /// in columns.
        checksum: Option<String> = report.checksum.map(|sum| format!("{sum:016x}")),
        /// Sorted runs that were formed.
        runs: usize,
        /// Bytes that were spilled because the memory was full.
        spilled_bytes: u64,
        /// Bytes that were written to scratch for them.
        scratch_bytes: u64,
        /// From the first batch that was read to the last one that was taken.
        seconds: f64,
        /// What a user should know.
        notices: Vec<String> = notices,
    }
}

report! {
    /// What a Sorter did.
    SorterReport from report: &xsort::SorterReport {
        /// Records that were pushed, and came out.
        records: u64,
        /// Bytes of them and their keys.
        bytes: u64,
        /// The sum of the hashes of all records with their keys, in hexadecimal.
        checksum: String = format!("{:016x}", report.checksum),
        /// Sorted runs that were formed.
        runs: usize,
        /// Bytes that were spilled because the memory was full.
        spilled_bytes: u64,
        /// Bytes that were written to scratch for them.
        scratch_bytes: u64,
        /// From the first full buffer to the last record.
        seconds: f64,
    }
}

report! {
    /// What was generated.
    GenerateReport from report: &xsort::GenerateReport, notices: Vec<String> {
        /// Records written.
        records: u64,
        /// Bytes written.
        bytes: u64,
        /// The sum of the CRC-32 of all records, in hexadecimal.
        checksum: String = report.checksum.to_string(),
        /// Threads that generated.
        threads: usize,
        /// Memory held for blocks, in bytes.
        memory_bytes: u64,
        /// What a user should know.
        notices: Vec<String> = notices,
    }
}

report! {
    /// What was found in files of records. It is true if all is well.
    Verdict from verdict: &xsort::Verdict, notices: Vec<String> {
        /// Whether the records are in order, and those to compare with are the same.
        ok: bool = verdict.is_sorted() && verdict.is_same(),
        /// Whether no key is smaller than the one before.
        in_order: bool = verdict.is_sorted(),
        /// Whether the files to compare with have the same records, in any order; None if there
        /// are none.
        same: Option<bool> = verdict.against.map(|_| verdict.is_same()),
        /// Records read.
        records: u64,
        /// Their bytes.
        bytes: u64,
        /// The sum of the CRC-32 of all records, in hexadecimal.
        checksum: String = verdict.checksum.to_string(),
        /// Records whose key is that of the record before.
        duplicate_keys: u64 = verdict.duplicates,
        /// Records that come before one with a smaller key.
        unordered_records: u64 = verdict.unordered,
        /// The first record, counted from zero, that is out of order.
        first_unordered_record: Option<u64> = verdict.first_unordered,
        /// What a user should know.
        notices: Vec<String> = notices,
    }
    fn __bool__(&self) -> bool {
        self.ok
    }
}

report! {
    /// What a tree takes.
    Usage from usage: &xsort::Usage, path: Option<PathBuf> {
        /// Its path, or None for all trees together.
        path: Option<PathBuf> = path,
        /// Bytes of allocated blocks.
        allocated_bytes: u64,
        /// Bytes of content.
        apparent_bytes: u64,
        /// Files, of all kinds.
        inodes: u64,
    }
}

report! {
    /// What trees take.
    TreeUsage from usage: xsort::TreeUsage {
        /// Of all trees together; each inode counts once.
        total: Usage = Usage::new(&usage.total, None),
        /// The directories that take the most space, the largest first.
        largest: Vec<Usage> = usage.largest.into_iter().map(largest).collect(),
        /// What could not be counted, or not completely.
        errors: Vec<String>,
    }
}

/// One of the largest directories.
fn largest((path, usage): (PathBuf, xsort::Usage)) -> Usage {
    Usage::new(&usage, Some(path))
}
