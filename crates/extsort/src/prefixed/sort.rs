//! The outline of a sort of prefixed records.

use super::bad_record::BadRecord;
use super::input_file::Changed;
use super::key_room::copies;
use super::keying::{PrefixedKeying, RecordsRead};
use super::options::PrefixedOptions;
use crate::keyed::{
    Counted, KeyedInput, KeyedReport, KeyingMemory, KeyingThreads, RecordRoom, copies_bytes,
    from_beginning, of_input, of_keyed, plan_keyed, sort_keyed,
};
use crate::variable::{Content, LinesDryRun, LinesInput, SortedOutput};
use crate::{Error, LinesOptions, LinesReport, Observer, Reservation};
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_records::KeyField;

/// Sorts the records of `inputs` together. Records with equal keys keep the order of the input.
/// `engine` says with which memory, threads and scratch; if it has a checkpoint, `output` is not
/// used.
///
/// # Errors
/// [`Error::Settings`] if no record can have the key's fields; [`Error::Input`] if an input isn't
/// made of such records, or is changed meanwhile; otherwise as [`sort_lines`](crate::sort_lines).
pub fn sort_prefixed(
    options: &PrefixedOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<KeyedReport, Error> {
    let KeyedRecords { inputs, engine, keying } = keyed_records(options, engine, inputs)?;
    let sorted = sort_keyed(&engine, &[], inputs, output, disk, observer)
        .map_err(|error| of_records_read(error, observer))?;
    let read = *keying.read.lock();
    Ok(report(&sorted, read))
}

/// Records with their keys, for whoever sorts and merges them in a way of his own.
#[derive(Debug)]
pub struct KeyedRecords {
    /// The inputs, as keyed records.
    pub inputs: Vec<LinesInput>,
    /// The settings of a sort of these.
    pub engine: LinesOptions,
    keying: Arc<PrefixedKeying>,
}

/// The records of `inputs` behind their keys. Nothing is read yet.
///
/// # Errors
/// [`Error::Settings`] if no record can have the key's fields.
pub fn keyed_records(
    options: &PrefixedOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
) -> Result<KeyedRecords, Error> {
    let threads = KeyingMemory::of_budget(engine.budget_bytes, engine.threads).threads;
    let (fields, given) = (options.fields.clone(), engine.clone());
    let room = RecordRoom::new(engine.budget_bytes, move |budget_bytes| {
        of_records(&fields, &LinesOptions { budget_bytes, ..given.clone() })
    });
    let engine = of_records(&options.fields, engine);
    let keying = Arc::new(PrefixedKeying::new(options.prefix, &options.fields, room)?);
    let threads = Arc::new(KeyingThreads::new(Arc::clone(&keying), threads));
    let inputs = inputs.into_iter().map(|input| keyed(input, &threads)).collect();
    Ok(KeyedRecords { inputs, engine, keying })
}

/// An error of a sort of keyed records, as that of a sort of prefixed records.
pub fn of_records_read(error: Error, observer: &dyn Observer) -> Error {
    of_input::<Changed>(of_input::<BadRecord>(error, observer), observer)
}

/// What a sort of `bytes` bytes of prefixed records would use. With their keys they take more
/// scratch than that, which is known when they are read.
///
/// # Errors
/// [`Error::Memory`] if the budget is too small.
pub fn plan_prefixed(
    options: &PrefixedOptions,
    engine: &LinesOptions,
    bytes: Option<u64>,
) -> Result<LinesDryRun, Error> {
    plan_keyed(&of_records(&options.fields, engine), bytes)
}

/// The engine's settings, with what records take on their way in and out.
fn of_records(fields: &[KeyField], engine: &LinesOptions) -> LinesOptions {
    let copies = copies(fields);
    let beside = Reservation::share(move |budget| copies_bytes(budget, copies));
    let reservation = engine.reservation.clone().and(beside);
    of_keyed(&LinesOptions { reservation, ..engine.clone() })
}

/// An input whose records have their keys. It takes next to no memory before its first read, and
/// none behind its last one: there may be many.
fn keyed(input: LinesInput, threads: &Arc<KeyingThreads<PrefixedKeying>>) -> LinesInput {
    let (path, threads) = (input.path.clone(), Arc::clone(threads));
    let keyed = KeyedInput::new(input.into_bytes(), from_beginning(0), threads);
    LinesInput { path, bytes: None, content: Content::Stream(Box::new(keyed)) }
}

/// What was done. Where an earlier process has read records, this one has no checksum of all; their
/// bytes are those that were written, since none is dropped.
fn report(sorted: &LinesReport, read: RecordsRead) -> KeyedReport {
    let RecordsRead { checksum, bytes } = read;
    let is_all_read = checksum.records() == sorted.lines;
    let bytes = if is_all_read { bytes } else { sorted.written_bytes };
    KeyedReport {
        checksum: is_all_read.then(|| checksum.to_string()),
        ..KeyedReport::new(Counted::Records(sorted.lines), bytes, sorted)
    }
}
