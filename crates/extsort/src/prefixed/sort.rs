//! The outline of a sort of prefixed records.

use super::bad_record::BadRecord;
use super::input_file::Changed;
use super::key_room::copies;
use super::keying::{PrefixedKeying, RecordsRead};
use super::options::PrefixedOptions;
use crate::keyed::{
    ByKey, Counted, KeyedInput, KeyedReport, KeyingMemory, KeyingThreads, RecordRoom, copies_bytes,
    from_beginning, merge_keyed, of_input, of_keyed, of_merged, plan_keyed, sort_keyed,
};
use crate::lines::{Content, LinesDryRun, LinesInput, SortedOutput, dry_run_lines};
use crate::{Error, LinesOptions, LinesReport, Observer};
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_records::KeyField;

/// Sorts the records of `inputs` together, or merges inputs that are in order. Records with equal
/// keys keep the order of the input.
/// `engine` sets memory, threads and scratch. If it has a checkpoint, `output` is not used.
///
/// # Errors
///
/// [`Error::Settings`] if no record can have the key's fields; [`Error::Input`] if an input isn't
/// made of such records, or changes while it is read; otherwise those of
/// [`sort_lines`](crate::sort_lines).
pub fn sort_prefixed(
    options: &PrefixedOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<KeyedReport, Error> {
    let KeyedRecords { inputs, engine, keying } = keyed_records(options, engine, inputs)?;
    let sorted = match options.merges {
        true => merge_keyed(&engine, &[], inputs, output, disk, observer).map_err(not_in_order),
        false => sort_keyed(&engine, &[], inputs, output, disk, observer),
    };
    let sorted = sorted.map_err(|error| of_records_read(error, observer))?;
    let read = *keying.read.lock();
    Ok(report(&sorted, read))
}

/// The error for an input of a merge that isn't in order.
fn not_in_order(error: Error) -> Error {
    let Error::NotSorted { path, number, .. } = error else { return error };
    let reason = format!(
        "record {number} belongs before the record before it, so the file is not in order: sort \
         it first, or sort all inputs together (--merge=any)"
    );
    Error::Unordered { path, reason }
}

/// Records with their keys, for a caller that sorts and merges them itself.
#[derive(Debug)]
pub struct KeyedRecords {
    /// The inputs, as keyed records.
    pub inputs: Vec<LinesInput>,
    /// The engine's settings for a sort of keyed records.
    pub engine: LinesOptions,
    keying: Arc<PrefixedKeying>,
}

/// Returns the records of `inputs` as keyed records. Nothing is read yet.
///
/// # Errors
///
/// [`Error::Settings`] if no record can have the key's fields.
pub fn keyed_records(
    options: &PrefixedOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
) -> Result<KeyedRecords, Error> {
    let LinesOptions { budget_bytes, threads, .. } = *engine;
    let memory = match options.merges {
        true => KeyingMemory::of_merge(budget_bytes, threads, inputs.len()),
        false => KeyingMemory::of_budget(budget_bytes, threads),
    };
    let (fields, given) = (options.fields.clone(), engine.clone());
    let room = RecordRoom::new(engine.budget_bytes, move |budget_bytes| {
        of_records(&fields, &LinesOptions { budget_bytes, ..given.clone() })
    });
    let engine = of_records(&options.fields, engine);
    let engine = if options.merges { of_merged(&engine, inputs.len())? } else { engine };
    let keying = Arc::new(PrefixedKeying::new(options.prefix, &options.fields, room)?);
    let threads = Arc::new(KeyingThreads::new(Arc::clone(&keying), memory));
    let inputs = inputs.into_iter().map(|input| keyed(input, &threads)).collect();
    Ok(KeyedRecords { inputs, engine, keying })
}

/// Converts an error of a sort of keyed records into one of a sort of prefixed records.
pub fn of_records_read(error: Error, observer: &dyn Observer) -> Error {
    of_input::<Changed>(of_input::<BadRecord>(error, observer), observer)
}

/// Plans a sort or a merge of `inputs` inputs, `bytes` bytes of prefixed records in all. Records
/// with their keys take more scratch than their input has bytes; how much is known only when they
/// are read.
///
/// # Errors
///
/// [`Error::Memory`] if the budget is too small.
pub fn plan_prefixed(
    options: &PrefixedOptions,
    engine: &LinesOptions,
    inputs: usize,
    bytes: Option<u64>,
) -> Result<LinesDryRun, Error> {
    let engine = of_records(&options.fields, engine);
    match options.merges {
        true => dry_run_lines(&of_merged(&engine, inputs)?, &ByKey, bytes, Some(inputs)),
        false => plan_keyed(&engine, bytes),
    }
}

/// The engine's settings, with the memory for reading records, building their keys and writing
/// them.
fn of_records(fields: &[KeyField], engine: &LinesOptions) -> LinesOptions {
    let copies = copies(fields);
    let copies_of = move |budget| copies_bytes(budget, copies);
    let reservation = engine.reservation.clone();
    let reservation = reservation.with_share("copies of the longest record", copies_of);
    of_keyed(&LinesOptions { reservation, ..engine.clone() })
}

/// An input as keyed records. It takes almost no memory before its first read and none after its
/// last one, because there may be many inputs.
fn keyed(input: LinesInput, threads: &Arc<KeyingThreads<PrefixedKeying>>) -> LinesInput {
    let (path, threads) = (input.path.clone(), Arc::clone(threads));
    let keyed = KeyedInput::new(input.into_bytes(), from_beginning(0), threads);
    LinesInput { path, bytes: None, content: Content::Stream(Box::new(keyed)) }
}

/// Builds the report. If an earlier process has read some records, the checksum of all isn't known.
/// Their bytes are then the written bytes, since no record is dropped.
fn report(sorted: &LinesReport, read: RecordsRead) -> KeyedReport {
    let RecordsRead { checksum, bytes } = read;
    let is_all_read = checksum.records() == sorted.lines;
    let bytes = if is_all_read { bytes } else { sorted.written_bytes };
    KeyedReport {
        checksum: is_all_read.then(|| checksum.to_string()),
        ..KeyedReport::new(Counted::Records(sorted.lines), bytes, sorted)
    }
}
