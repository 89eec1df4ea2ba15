//! The outline of a sort of prefixed records.

use super::bad_record::BadRecord;
use super::input_file::Changed;
use super::keying::{PrefixedKeying, RecordsRead};
use super::options::PrefixedOptions;
use crate::keyed::{
    ByKey, Counted, KeyedInput, KeyedReport, KeyingMemory, KeyingThreads, from_beginning, of_input,
    of_keyed, plan_keyed, record_bytes_max, sort_keyed,
};
use crate::variable::{
    Content, InputBytes, LinesDryRun, LinesInput, SortedOutput, stream_line_bytes_max, total_bytes,
};
use crate::{Error, LinesOptions, LinesReport, Observer};
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_records::{KeyField, KeyKind};

/// Keys of no more bytes take next to nothing.
const SHORT_KEY_BYTES_MAX: usize = 1 << 20;
/// With its key, a record may take so many times as much as the longest one without.
const LONG_KEY_SHARE: usize = 4;
/// What the longest record may take beside the budget.
const BESIDE_BUDGET_BYTES: u64 = 48 << 20;

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
    let input_bytes = total_bytes(&inputs);
    let threads = KeyingMemory::of_budget(engine.budget_bytes, engine.threads).threads;
    let bytes_max = record_bytes_max(engine.budget_bytes);
    let engine = of_records(options, engine);
    let keyed_max = stream_line_bytes_max::<ByKey>(&engine).min(LONG_KEY_SHARE * bytes_max);
    let keying = PrefixedKeying::new(options.prefix, &options.fields, bytes_max, keyed_max)?;
    let keying = Arc::new(keying);
    let threads = Arc::new(KeyingThreads::new(Arc::clone(&keying), threads));
    let inputs = inputs.into_iter().map(|input| keyed(input, &threads)).collect();
    drop(threads);
    let sorted = sort_keyed(&engine, &[], inputs, output, disk, observer)
        .map_err(|error| of_input::<Changed>(of_input::<BadRecord>(error, observer), observer))?;
    let read = *keying.read.lock();
    Ok(report(&sorted, read, input_bytes))
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
    plan_keyed(&of_records(options, engine), bytes)
}

/// The engine's settings, with what records take on their way in and out.
fn of_records(options: &PrefixedOptions, engine: &LinesOptions) -> LinesOptions {
    let bytes_max = record_bytes_max(engine.budget_bytes) as u64;
    let long_key_bytes = long_key_bytes(&options.fields, bytes_max);
    LinesOptions { taken_bytes: engine.taken_bytes + long_key_bytes, ..of_keyed(engine) }
}

/// Bytes of the budget for the longest record with a key that is as long: as it was read, with
/// room for more, what was read behind it, and with its key, of which each byte may take two. Half
/// of that is within what the process may take beside the budget. Sorts of records of 16 MiB in 256
/// MiB took up to 36 MiB too much without it (two cores, November 2026).
fn long_key_bytes(fields: &[KeyField], record_bytes_max: u64) -> u64 {
    let text_bytes = fields.iter().filter(|field| field.kind == KeyKind::Bytes);
    let text_bytes: usize = text_bytes.map(|field| field.length).fold(0, usize::saturating_add);
    match fields.is_empty() || text_bytes > SHORT_KEY_BYTES_MAX {
        true => (6 * record_bytes_max).saturating_sub(BESIDE_BUDGET_BYTES),
        false => 0,
    }
}

/// An input whose records have their keys. It takes next to no memory before its first read, and
/// none behind its last one: there may be many.
fn keyed(input: LinesInput, threads: &Arc<KeyingThreads<PrefixedKeying>>) -> LinesInput {
    let (path, threads) = (input.path.clone(), Arc::clone(threads));
    let open = move || {
        let keyed = KeyedInput::new(input.into_bytes(), from_beginning(0), threads);
        Ok(Box::new(keyed) as InputBytes<'static>)
    };
    LinesInput { path, bytes: None, content: Content::File(Box::new(open)) }
}

/// What was done. Where an earlier process has read the inputs to their end, this one has nothing
/// to make the checksum of; their size is what it was then.
fn report(sorted: &LinesReport, read: RecordsRead, input_bytes: Option<u64>) -> KeyedReport {
    let RecordsRead { checksum, bytes } = read;
    let is_all_read = checksum.records() == sorted.lines;
    let bytes = if is_all_read { bytes } else { input_bytes.unwrap_or(sorted.bytes) };
    KeyedReport {
        checksum: is_all_read.then(|| checksum.to_string()),
        ..KeyedReport::new(Counted::Records(sorted.lines), bytes, sorted)
    }
}
