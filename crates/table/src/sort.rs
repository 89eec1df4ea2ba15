//! The outline of a sort of tables.

use crate::check::row_of;
use crate::first_keys::ByFirstFields;
use crate::format::RowFormat;
use crate::incremental::{RowForm, RowsAsTheyCome};
use crate::input_error::of_input;
use crate::key::KeyColumn;
use crate::on_bad::OnBad;
use crate::open::Table;
use crate::options::{TableOptions, TableOutput};
use crate::parts::{PartNames, PartsOutput};
use crate::row_room::RowRoom;
use crate::row_rules::push_counted;
use crate::rows_read::RowsRead;
use crate::top_lines::Opening;
use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use xsort_disk::Disk;
use xsort_extsort::keyed::{
    ByKey, Counted, GroupedOutput, Keep, KeyedReport, RestoredOutput, merge_keyed, of_merged,
    plan_keyed, sort_keyed,
};
use xsort_extsort::lines::{
    CompressedOutput, CompressionThreads, LinesDryRun, LinesInput, PositionIndex, SortedOutput,
    dry_run_lines, merge_formed,
};
use xsort_extsort::units::Count;
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer, sort_lines};

/// Most characters of a row in an error.
const SHOWN_CHARS: usize = 100;

/// Sorts the rows of `inputs` together, or merges inputs that are in order. Rows with equal keys
/// keep the order of the input. `engine`
/// sets memory, threads and scratch. If it has a checkpoint, `output` is not used.
///
/// # Errors
///
/// [`Error::Settings`] if there is no such column; a disk's error that names the input if that
/// isn't a table; otherwise those of [`sort_lines`].
pub fn sort_table(
    options: &TableOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    output: TableOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<KeyedReport, Error> {
    sort_table_and_late(options, engine, inputs, output, None, disk, observer)
}

/// Sorts the rows of `inputs` like [`sort_table`]. Rows that come too late for
/// [`within`](TableOptions::within) go to `late`, after the header.
///
/// # Errors
///
/// The errors of [`sort_table`]. [`Error::LateOutput`] if `late` can't be written.
pub fn sort_table_and_late(
    options: &TableOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    output: TableOutput<'_>,
    mut late: Option<&mut (dyn Write + Send)>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<KeyedReport, Error> {
    options.check()?;
    let expected_bytes = inputs.iter().filter_map(|input| input.bytes).sum();
    let (opening, inputs) = Opening::new(options, engine, inputs, observer)?;
    let table = Table::open(&opening, inputs, false, observer)?;
    let Opening { options, engine, .. } = &opening;
    if let Some(late) = &mut late {
        late.write_all(&table.plain_header).map_err(Error::LateOutput)?;
    }
    let rules = Arc::clone(&table.rules);
    let output = (output, late);
    let report = sort_opened((options, engine), table, output, expected_bytes, disk, observer)
        .map_err(|error| not_in_order(error, &opening))?;
    Ok(with_bad_rows(report, options, &rules.read, observer))
}

/// The error for inputs that aren't as far in order as they should be, with their rows as they are
/// in the file.
fn not_in_order(error: Error, opening: &Opening) -> Error {
    let row = |keyed: &[u8]| {
        let row = row_of(keyed);
        let row = String::from_utf8_lossy(&row);
        row.trim_end().chars().take(SHOWN_CHARS).collect::<String>()
    };
    match error {
        Error::NotSorted { path, number, line, before } => {
            let (number, line, before) =
                (number + opening.lines_above(&path), row(&line), row(&before));
            let way_out = match opening.options.is_incremental() {
                true => {
                    "leave out --sorted-by to sort it, or name only the keys that it is in the \
                     order of"
                }
                false => "sort it first, or sort all inputs together (--merge=any)",
            };
            let reason = format!(
                "row {number} belongs before the row before it, so the file is not in order: \
                 {line:?} after {before:?}: {way_out}"
            );
            Error::Unordered { path, reason }
        }
        Error::Late { path, number, line, lag } => {
            let (number, line) = (number + opening.lines_above(&path), row(&line));
            let reason = format!(
                "row {number} comes too late: {lag}: {line:?}: raise it, or write such rows to a \
                 file (--late FILE)"
            );
            Error::Input { path, reason }
        }
        other => other,
    }
}

/// Adds the count of bad rows to the report, if they are no errors and this process has read all
/// rows. If all values of a column are bad, it notifies `observer`: the rows are then in no order
/// of values.
fn with_bad_rows(
    report: KeyedReport,
    options: &TableOptions,
    read: &RowsRead,
    observer: &dyn Observer,
) -> KeyedReport {
    if options.on_bad == OnBad::Refuse || read.rows.load(Relaxed) != report.counted.count() {
        return report;
    }
    let columns: Vec<&KeyColumn> = options.keys.columns().collect();
    for (at, values) in read.all_bad() {
        let key = columns[at];
        let (column, kind, values) = (&key.column, key.kind.name(), Count(values, "value"));
        observer.notice(&format!(
            "{column}: not one of its {values} is of the type {kind}: the rows are in the order \
             of the bytes of these; is the type right?"
        ));
    }
    KeyedReport { bad_rows: Some(read.bad_rows.load(Relaxed)), ..report }
}

/// Sorts the rows of open inputs. `expected_bytes` is the known part of their size.
fn sort_opened(
    (options, engine): (&TableOptions, &LinesOptions),
    table: Table,
    (output, late): (TableOutput<'_>, Option<&mut (dyn Write + Send)>),
    expected_bytes: u64,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<KeyedReport, Error> {
    let late = late.map(|late| late as &mut (dyn Write + Send));
    let threads = CompressionThreads::of_budget(engine.budget_bytes, engine.threads);
    let room = RowRoom::of(options).engine_options(engine);
    let room = if options.merges { of_merged(&room, table.inputs.len())? } else { room };
    let is_unique =
        options.unique == Some(Keep::First) && !options.counts && options.unique_keys.is_none();
    let engine = LinesOptions { is_unique, ..room };
    let job = TableJob { options, engine: &engine, late: Mutex::new(late), disk, observer };
    let output = match output {
        _ if engine.checkpoint.is_some() => return job.sort_resumably(table),
        TableOutput::Stream(to) => SortedOutput::Stream(to),
        TableOutput::File { path, sync } => SortedOutput::File { path, sync },
        TableOutput::Parts { path, part_bytes, sync } => {
            let names = PartNames::of(path);
            let compression = options.compression.map(|codec| (codec, threads));
            let header = table.header.clone();
            let mut parts = PartsOutput::new(disk, names, part_bytes, header, compression);
            let report = job.sort_rows(table, &mut parts, Some(part_bytes));
            let report = report.map_err(|error| error.of_output(&parts.path()))?;
            parts.publish(sync)?;
            return Ok(report);
        }
    };
    match (job.is_plain(), options.index, &output) {
        (true, ..) => job.sort_plain(table, output),
        (false, Some(options), &SortedOutput::File { path, sync }) => {
            let mut index = PositionIndex::new(options, &table.header, job.engine.budget_bytes);
            let (report, index) = output.write(expected_bytes, disk, |to| {
                let report = job.sort_to(table, to, Some(&mut index))?;
                Ok((report, index.finish(disk, path)?))
            })?;
            index.publish(sync)?;
            Ok(report)
        }
        (false, ..) => output.write(expected_bytes, disk, |to| job.sort_to(table, to, None)),
    }
}

/// Plans a sort or a merge of `inputs` tables, `bytes` bytes in all, without compression of the
/// output.
///
/// # Errors
///
/// [`Error::Memory`] if the budget is too small.
pub fn plan_table(
    options: &TableOptions,
    engine: &LinesOptions,
    inputs: usize,
    bytes: Option<u64>,
) -> Result<LinesDryRun, Error> {
    let engine = RowRoom::of(options).uncompressed().engine_options(engine);
    match options.merges {
        true => dry_run_lines(&of_merged(&engine, inputs)?, &ByKey, bytes, Some(inputs)),
        false => plan_keyed(&engine, bytes),
    }
}

/// A running sort of tables.
struct TableJob<'a> {
    options: &'a TableOptions,
    engine: &'a LinesOptions,
    /// Takes rows that come too late, in a sort of rows as they come.
    late: Mutex<Option<&'a mut (dyn Write + Send)>>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
}

impl TableJob<'_> {
    /// True if the engine can write the output itself: all rows, or the first of equal ones,
    /// uncompressed.
    fn is_plain(&self) -> bool {
        let TableOptions { compression, rows_max, .. } = self.options;
        compression.is_none() && rows_max.is_none() && self.grouped().is_none()
    }

    /// Which of equal rows is written, if the engine doesn't drop the others.
    fn grouped(&self) -> Option<Keep> {
        self.options.unique.filter(|_| !self.engine.is_unique)
    }

    /// Sorts header and rows to an output that the engine opens.
    fn sort_plain(&self, table: Table, output: SortedOutput<'_>) -> Result<KeyedReport, Error> {
        let TableJob { engine, observer, .. } = *self;
        let Table { inputs, header, rules, .. } = table;
        let report = self.sort_or_merge(&header, inputs, output);
        let report = report.map_err(|error| of_input(error, observer))?;
        let bytes = if rules.read.rows.load(Relaxed) == report.lines {
            rules.read.bytes.load(Relaxed)
        } else if engine.is_unique {
            // An earlier process has read rows, and some were dropped with their keys.
            report.bytes
        } else {
            report.written_bytes - header.len() as u64
        };
        Ok(KeyedReport::new(Counted::Rows(report.lines), bytes, &report))
    }

    /// Sorts header and rows to an open output, and compresses them if requested. Builds the index
    /// of a compressed output.
    fn sort_to(
        &self,
        table: Table,
        to: &mut (dyn Write + Send),
        index: Option<&mut PositionIndex>,
    ) -> Result<KeyedReport, Error> {
        let LinesOptions { budget_bytes, threads, .. } = *self.engine;
        let threads = CompressionThreads::of_budget(budget_bytes, threads).threads;
        let mut to: Box<dyn Write + Send + '_> = match self.options.compression {
            Some(codec) => {
                let to = CompressedOutput::new(to, codec, threads, Vec::new());
                Box::new(to.with_index(index))
            }
            None => Box::new(to),
        };
        to.write_all(&table.header).map_err(Error::Output)?;
        let header_bytes = table.header.len() as u64;
        let report = self.sort_rows(table, &mut to, None)?;
        to.flush().map_err(Error::Output)?;
        Ok(KeyedReport { written_bytes: header_bytes + report.written_bytes, ..report })
    }

    /// Sorts or merges rows with their keys, and writes `head` and the rows.
    fn sort_or_merge(
        &self,
        head: &[u8],
        inputs: Vec<LinesInput>,
        output: SortedOutput<'_>,
    ) -> Result<LinesReport, Error> {
        let &TableJob { options, engine, disk, observer, .. } = self;
        if options.is_incremental() {
            output.write(0, disk, |to| {
                to.write_all(head).map_err(Error::Output)?;
                let report = self.sort_as_they_come(inputs, RowForm::Plain, to)?;
                let written_bytes = head.len() as u64 + report.written_bytes;
                Ok(LinesReport { written_bytes, ..report })
            })
        } else if options.merges {
            merge_keyed(engine, head, inputs, output, disk, observer)
        } else {
            sort_keyed(engine, head, inputs, output, disk, observer)
        }
    }

    /// Sorts or merges rows with their keys, and writes both to a stream.
    fn sort_or_merge_keyed(
        &self,
        inputs: Vec<LinesInput>,
        to: &mut (dyn Write + Send),
    ) -> Result<LinesReport, Error> {
        let &TableJob { options, engine, disk, observer, .. } = self;
        if options.is_incremental() {
            self.sort_as_they_come(inputs, RowForm::Keyed, to)
        } else if options.merges {
            let to = SortedOutput::Stream(to);
            merge_formed(engine, &ByKey, inputs, to, None, disk, observer)
        } else {
            sort_lines(engine, &ByKey, inputs, to, disk, observer)
        }
    }

    /// Sorts rows as they come.
    fn sort_as_they_come(
        &self,
        inputs: Vec<LinesInput>,
        form: RowForm,
        to: &mut (dyn Write + Send),
    ) -> Result<LinesReport, Error> {
        let &TableJob { options, engine, disk, observer, .. } = self;
        let rows = RowsAsTheyCome { options, engine, disk, observer };
        let mut late = self.late.lock().expect("no other thread has it");
        let late = late.as_mut().map(|late| &mut **late as &mut (dyn Write + Send));
        rows.sort(inputs, form, to, late)
    }

    /// Sorts to the output of the checkpoint.
    fn sort_resumably(&self, table: Table) -> Result<KeyedReport, Error> {
        if !self.is_plain() {
            return Err(Error::Settings(
                "a sort that can be resumed writes all rows, or the first of equal ones, to a \
                 file that isn't compressed"
                    .into(),
            ));
        }
        self.sort_plain(table, SortedOutput::Stream(&mut io::sink()))
    }

    /// Sorts the rows. With `part_bytes`, each write has whole rows.
    fn sort_rows(
        &self,
        table: Table,
        to: &mut (dyn Write + Send),
        part_bytes: Option<u64>,
    ) -> Result<KeyedReport, Error> {
        let TableJob { options, observer, .. } = *self;
        let Table { inputs, rules, .. } = table;
        let rows_max = options.rows_max.unwrap_or(u64::MAX);
        let keep = self.grouped();
        let (report, written_bytes) = if keep.is_some() || part_bytes.is_some() {
            let append = |out: &mut Vec<u8>, count, row: &[u8]| match options.counts {
                true => push_counted(out, options.format, count, row),
                false => out.extend_from_slice(row),
            };
            let write_bytes = part_bytes.map_or(usize::MAX, |bytes| (bytes / 64) as usize);
            let mut grouped =
                GroupedOutput::new(to, keep, rows_max, append).with_writes_of(write_bytes);
            if let Some(count) = options.unique_keys {
                let is_json = options.format == RowFormat::Ndjson;
                let first = ByFirstFields::new(&options.keys.0[..count], is_json)?;
                grouped = grouped.grouped_by(move |keyed| first.fields(keyed).len());
            }
            let report = self.sort_or_merge_keyed(inputs, &mut grouped);
            let taken = grouped.records_taken;
            let report = report.and_then(|report| all_taken(report, taken));
            (report, grouped.written_bytes)
        } else if options.rows_max.is_some() {
            let mut first = RestoredOutput::new(to, rows_max);
            let report = self.sort_or_merge_keyed(inputs, &mut first);
            (report, first.written_bytes)
        } else {
            let to = SortedOutput::Stream(to);
            let report = self.sort_or_merge(&[], inputs, to);
            let written_bytes = report.as_ref().map_or(0, |report| report.written_bytes);
            (report, written_bytes)
        };
        let report = report.map_err(|error| of_input(error, observer))?;
        let bytes = rules.read.bytes.load(Relaxed);
        Ok(KeyedReport {
            written_bytes,
            ..KeyedReport::new(Counted::Rows(report.lines), bytes, &report)
        })
    }
}

/// Checks that every row is in a group.
fn all_taken(report: LinesReport, taken: u64) -> Result<LinesReport, Error> {
    let in_order = report.lines - report.late_lines.unwrap_or(0);
    match in_order == taken {
        true => Ok(report),
        false => Err(Error::Lost { what: format!("{} rows read, {taken} written", report.lines) }),
    }
}
