//! The outline of a sort of tables.

use crate::bad_row::BadRow;
use crate::header::{self, Header};
use crate::key::Keys;
use crate::keying::{Counts, OnBad, RowKeying};
use crate::rows::{BYTE_ORDER_MARK, Rows};
use crate::split::Dialect;
use serde::Serialize;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{Disk, Operation};
use xsort_extsort::keyed::{
    ByKey, InputRest, KeyedInput, KeyingMemory, KeyingThreads, RECORD_END, RestoredOutput,
    ToFirstRecord, sort_keyed,
};
use xsort_extsort::units::{Bytes, Count, Decimal};
use xsort_extsort::variable::{
    CompressedOutput, CompressionThreads, Content, FileOutput, InputBytes, LinesInput, OutputCodec,
    Summary,
};
use xsort_extsort::{Error, LinesOptions, Observer, sort_lines};

/// Longest row in bytes, whatever the budget.
const ROW_BYTES_MAX: u64 = 16 << 20;
/// A row may take this share of the budget.
const ROW_SHARE: u64 = 16;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Where fields and rows end.
    pub dialect: Dialect,
    /// Whether the first row of each input names the columns.
    pub has_header: bool,
    /// The columns to sort by.
    pub keys: Keys,
    /// What becomes of values that aren't of their column's type.
    pub on_bad: OnBad,
    /// Of rows with equal keys only the first is written.
    pub is_unique: bool,
    /// Only so many rows are written.
    pub rows_max: Option<u64>,
    /// How the output is compressed, if at all.
    pub compression: Option<OutputCodec>,
}

/// Where rows go.
pub enum TableOutput<'o> {
    /// A new file, which appears whole or not at all.
    File(&'o Path),
    /// Anything that can be written to.
    Stream(&'o mut (dyn Write + Send)),
}

/// What a sort of tables did.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    /// Rows read, without headers.
    pub rows: u64,
    /// Their bytes, with the line ends that were missing.
    pub bytes: u64,
    /// Bytes written, the header included, before they are compressed.
    pub written_bytes: u64,
    /// Sum of the hashes of all rows with their keys, in hexadecimal: the same for those that were
    /// read and those that were written or dropped.
    pub checksum: String,
    /// From the first read to the last write.
    pub seconds: f64,
    /// What that is for `bytes`.
    pub bytes_per_second: f64,
    /// Threads that sorted and merged.
    pub threads: usize,
    /// Memory that was used.
    pub memory_bytes: u64,
    /// Sorted runs that were formed.
    pub runs: usize,
    /// Bytes of rows with their keys that were spilled.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them.
    pub scratch_bytes: u64,
}

impl fmt::Display for TableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = Summary {
            what: Count(self.rows, "row"),
            bytes: self.bytes,
            seconds: self.seconds,
            scratch_bytes: self.scratch_bytes,
            checksum: Some(&self.checksum),
        };
        writeln!(f, "{summary}")?;
        if f.alternate() {
            writeln!(f, "threads  {}", self.threads)?;
            writeln!(f, "memory   {}", Bytes(self.memory_bytes))?;
            writeln!(f, "runs     {}", self.runs)?;
            writeln!(f, "spilled  {} with keys", Decimal(self.spilled_bytes as f64))?;
            writeln!(f, "written  {}", Decimal(self.written_bytes as f64))?;
        }
        Ok(())
    }
}

/// Sorts the rows of `inputs` together. Rows with equal keys keep the order of the input. `engine`
/// says with which memory, threads and scratch.
///
/// # Errors
/// [`Error::Settings`] if there is no such column; a disk's error that names the input if that is
/// no table; otherwise as [`sort_lines`].
pub fn sort_table(
    options: &TableOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    output: TableOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<TableReport, Error> {
    let expected_bytes = inputs.iter().filter_map(|input| input.bytes).sum();
    let table = Table::open(options, engine, inputs, observer)?;
    let threads = CompressionThreads::of_budget(engine.budget_bytes, engine.threads);
    let compression = options.compression.map(|_| threads);
    let engine = LinesOptions {
        delimiter: RECORD_END,
        is_unique: options.is_unique,
        taken_bytes: engine.taken_bytes
            + KeyingMemory::of_budget(engine.budget_bytes, engine.threads).taken_bytes
            + FileOutput::MEMORY_BYTES
            + compression.map_or(0, |threads| threads.taken_bytes),
        ..engine.clone()
    };
    match output {
        TableOutput::Stream(to) => table.sort_to(options, &engine, to, disk, observer),
        TableOutput::File(path) => {
            let mut file = FileOutput::create(disk, path, expected_bytes)?;
            let report = table.sort_to(options, &engine, &mut file, disk, observer);
            let report = report.map_err(|error| error.of_output(path))?;
            file.publish().map_err(|error| error.of_output(path))?;
            Ok(report)
        }
    }
}

/// Inputs whose columns are known.
pub(crate) struct Table {
    pub(crate) inputs: Vec<LinesInput>,
    /// What comes before all rows: a byte order mark and the header, if there are any.
    header: Vec<u8>,
    keying: Arc<RowKeying>,
}

impl Table {
    /// Reads the header of the first input, and finds the columns.
    pub(crate) fn open(
        options: &TableOptions,
        engine: &LinesOptions,
        inputs: Vec<LinesInput>,
        observer: &dyn Observer,
    ) -> Result<Table, Error> {
        let LinesOptions { budget_bytes, threads, .. } = *engine;
        let row_bytes_max = (budget_bytes / ROW_SHARE).min(ROW_BYTES_MAX) as usize;
        let mut inputs = inputs.into_iter();
        let Some(first) = inputs.next() else {
            return Err(Error::Settings("there is no input".into()));
        };
        let (path, mut rows) = (first.path.clone(), Rows::new(first.into_bytes()));
        let has_mark = rows.take_mark().map_err(|error| of_read(&path, error, observer))?;
        let header = match options.has_header {
            true => Some(
                header::take(&mut rows, &options.dialect, row_bytes_max)
                    .map_err(|error| of_read(&path, error, observer))?,
            ),
            false => None,
        };
        let is_empty = header.as_ref().is_some_and(|header| header.bytes.is_empty());
        let columns = match is_empty {
            true => Vec::new(),
            false => header::resolve(&options.keys, header.as_ref())?,
        };
        let Header { bytes: mut row, names } = header.unwrap_or_default();
        let line_end = if row.ends_with(b"\r\n") { "\r\n" } else { "\n" };
        if !row.is_empty() && !row.ends_with(b"\n") {
            row.extend(line_end.bytes());
        }
        let mark = if has_mark { BYTE_ORDER_MARK } else { &[] };
        let keying = Arc::new(RowKeying {
            dialect: options.dialect,
            columns,
            on_bad: options.on_bad,
            line_end: line_end.into(),
            row_bytes_max,
            counts: Counts::default(),
        });
        let names = Arc::new(names);
        let threads = KeyingMemory::of_budget(budget_bytes, threads).threads;
        let threads = Arc::new(KeyingThreads::new(Arc::clone(&keying), threads));
        let keyed = |path: PathBuf, from: InputBytes, to_first: ToFirstRecord| {
            let keyed = KeyedInput::new(from, to_first, Arc::clone(&threads));
            LinesInput { path, bytes: None, content: Content::Stream(Box::new(keyed)) }
        };
        let InputRest { from, read, at } = rows.into_rest();
        let to_first = move |from| Ok(InputRest { from, read, at });
        let mut all = vec![keyed(path, from, Box::new(to_first))];
        all.extend(inputs.map(|input| {
            let (keying, path) = (Arc::clone(&keying), input.path.clone());
            let names = options.has_header.then(|| Arc::clone(&names));
            let to_first = move |from| keying.to_first_row(from, names.as_deref());
            keyed(path, input.into_bytes(), Box::new(to_first))
        }));
        Ok(Table { inputs: all, header: [mark, &row].concat(), keying })
    }

    fn sort_to(
        self,
        options: &TableOptions,
        engine: &LinesOptions,
        to: &mut (dyn Write + Send),
        disk: &dyn Disk,
        observer: &dyn Observer,
    ) -> Result<TableReport, Error> {
        let Table { inputs, header, keying } = self;
        let threads = CompressionThreads::of_budget(engine.budget_bytes, engine.threads).threads;
        let mut to: Box<dyn Write + Send + '_> = match options.compression {
            Some(codec) => Box::new(CompressedOutput::new(to, codec, threads, Vec::new())),
            None => Box::new(to),
        };
        to.write_all(&header).map_err(Error::Output)?;
        let (report, written_bytes) = match options.rows_max {
            Some(rows_max) => {
                let mut first = RestoredOutput::new(&mut to, rows_max);
                let report = sort_lines(engine, &ByKey, inputs, &mut first, disk, observer);
                (report, first.written_bytes)
            }
            None => {
                let report = sort_keyed(engine, inputs, &mut to, disk, observer);
                let written_bytes = report.as_ref().map_or(0, |report| report.written_bytes);
                (report, written_bytes)
            }
        };
        let report = report.map_err(|error| of_input(error, observer))?;
        to.flush().map_err(Error::Output)?;
        let bytes = keying.counts.bytes.load(Relaxed);
        Ok(TableReport {
            rows: keying.counts.rows.load(Relaxed),
            bytes,
            written_bytes: header.len() as u64 + written_bytes,
            checksum: report.checksum.map(|sum| format!("{sum:x}")).unwrap_or_default(),
            seconds: report.seconds,
            bytes_per_second: bytes as f64 / report.seconds.max(1e-9),
            threads: report.plan.threads,
            memory_bytes: report.plan.memory_bytes(),
            runs: report.runs,
            spilled_bytes: report.spilled_bytes,
            scratch_bytes: report.scratch_bytes,
        })
    }
}

/// The error of an input that can't be read, or is no table.
pub(crate) fn of_read(path: &Path, error: io::Error, observer: &dyn Observer) -> Error {
    of_input(xsort_disk::Error::new(Operation::Read, path, error).into(), observer)
}

/// A row that can't be sorted is the input's fault, and not that of the drive that it is read from.
/// A file that can't be opened is opened by its first read. And a stop on request ends a wait for
/// more of a stream.
fn of_input(error: Error, observer: &dyn Observer) -> Error {
    let Error::Disk(mut error) = error else { return error };
    if error.operation != Operation::Read {
        return error.into();
    }
    let source = &error.source;
    if observer.is_cancelled() {
        return Error::Cancelled;
    }
    if source.get_ref().and_then(|inner| inner.downcast_ref::<BadRow>()).is_some() {
        return Error::Input { reason: source.to_string(), path: error.path };
    }
    if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) {
        error.operation = Operation::Open;
    }
    error.into()
}
