//! The outline of a sort of tables.

use crate::input_error::of_input;
use crate::open::Table;
use crate::options::{TableOptions, TableOutput};
use crate::report::TableReport;
use crate::row_rules::push_counted;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Disk;
use xsort_extsort::keyed::{
    ByKey, GroupedOutput, Keep, KeyingMemory, RECORD_END, RestoredOutput, sort_keyed,
};
use xsort_extsort::variable::{CompressedOutput, CompressionThreads, FileOutput, LinesInput};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer, sort_lines};

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
        is_unique: options.unique == Some(Keep::First) && !options.counts,
        taken_bytes: engine.taken_bytes
            + KeyingMemory::of_budget(engine.budget_bytes, engine.threads).taken_bytes
            + FileOutput::MEMORY_BYTES
            + compression.map_or(0, |threads| threads.taken_bytes),
        ..engine.clone()
    };
    match output {
        TableOutput::Stream(to) => sort_to(table, options, &engine, to, disk, observer),
        TableOutput::File(path) => {
            let mut file = FileOutput::create(disk, path, expected_bytes)?;
            let report = sort_to(table, options, &engine, &mut file, disk, observer);
            let report = report.map_err(|error| error.of_output(path))?;
            file.publish().map_err(|error| error.of_output(path))?;
            Ok(report)
        }
    }
}

/// Sorts to an output that is open.
fn sort_to(
    table: Table,
    options: &TableOptions,
    engine: &LinesOptions,
    to: &mut (dyn Write + Send),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<TableReport, Error> {
    let Table { inputs, header, rules } = table;
    let threads = CompressionThreads::of_budget(engine.budget_bytes, engine.threads).threads;
    let mut to: Box<dyn Write + Send + '_> = match options.compression {
        Some(codec) => Box::new(CompressedOutput::new(to, codec, threads, Vec::new())),
        None => Box::new(to),
    };
    to.write_all(&header).map_err(Error::Output)?;
    let rows_max = options.rows_max.unwrap_or(u64::MAX);
    let (report, written_bytes) = match options.unique {
        Some(keep) if !engine.is_unique => {
            let append = |out: &mut Vec<u8>, count, row: &[u8]| match options.counts {
                true => push_counted(out, options.format, count, row),
                false => out.extend_from_slice(row),
            };
            let mut grouped = GroupedOutput::new(&mut to, keep, rows_max, append);
            let report = sort_lines(engine, &ByKey, inputs, &mut grouped, disk, observer);
            let taken = grouped.records_taken;
            (report.and_then(|report| all_taken(report, taken)), grouped.written_bytes)
        }
        _ if options.rows_max.is_some() => {
            let mut first = RestoredOutput::new(&mut to, rows_max);
            let report = sort_lines(engine, &ByKey, inputs, &mut first, disk, observer);
            (report, first.written_bytes)
        }
        _ => {
            let report = sort_keyed(engine, inputs, &mut to, disk, observer);
            let written_bytes = report.as_ref().map_or(0, |report| report.written_bytes);
            (report, written_bytes)
        }
    };
    let report = report.map_err(|error| of_input(error, observer))?;
    to.flush().map_err(Error::Output)?;
    let bytes = rules.bytes.load(Relaxed);
    Ok(TableReport {
        rows: rules.rows.load(Relaxed),
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

/// Checks that every row is in a group.
fn all_taken(report: LinesReport, taken: u64) -> Result<LinesReport, Error> {
    match report.lines == taken {
        true => Ok(report),
        false => Err(Error::Lost { what: format!("{} rows read, {taken} written", report.lines) }),
    }
}
