//! Merging inputs that are in order, or stretches of inputs, where they are: each is read once, as
//! the forecast says.
//!
//! ```text
//! stretch  | block | block | block | block |
//!          key     key     key     key   key    read first: the index
//! ```
//!
//! The index of a stretch has the first key of each block, and the last key of all. The merge
//! checks each block when it gets there: its first key is the index's, its records are in order,
//! and none is greater than the next block's first. What is in any order after the last stretch is
//! sorted in memory first. If a check fails, the stretches were a wrong guess. If the caller said
//! that the inputs are in order, they are searched for the first record that isn't.

use super::job::{CompleteOutput, SortIo, SortJob, SortState};
use super::memory::Memory;
use super::plan::{Plan, Shape};
use super::rest::sort_rest;
use super::runs::{
    Block, Index, Place, RecordRange, Run, SortedInput, merge_runs, records_of_block,
};
use super::stretches::{Stretch, Stretches, pieces, read_pieces};
use crate::Error;
use crate::store::scratch::BlockAddress;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, FileId, Lease, align_up};
use xsort_records::Checksum;

/// Most reads in flight while keys are read.
const KEY_READS_MAX: usize = 32;
/// Most bytes of a key in an error.
const SHOWN_BYTES: usize = 32;

/// Merges the inputs, whose paths are `paths`. The output is then complete but not published.
///
/// # Errors
/// [`Error::Unordered`] if an input isn't in order, with the first record that isn't.
pub(super) fn merge_inputs(
    job: &SortJob<'_>,
    paths: &[PathBuf],
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    let inputs = state.io.input_bytes.iter().map(|bytes| bytes / job.record_bytes as u64);
    let whole = |(input, records)| Stretch { input, from: 0, records };
    let sorted = inputs.enumerate().map(whole).filter(|stretch| stretch.records > 0).collect();
    let memory = std::mem::take(&mut state.memory);
    merge_stretches(job, job.plan, &Stretches { sorted, rest: Vec::new() }, memory, state).map_err(
        |error| match error {
            Error::NotInOrder => explain(job, &state.io, paths),
            error => error,
        },
    )
}

/// Merges stretches of the inputs as `plan` says, in the memory of its pool. The output is then
/// complete but not published.
///
/// # Errors
/// [`Error::NotInOrder`] if a stretch isn't in order.
pub(super) fn merge_stretches(
    job: &SortJob<'_>,
    plan: &Plan,
    stretches: &Stretches,
    memory: Memory,
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    let Shape::MergeInputs(shape) = &plan.shape else { unreachable!("such a plan merges inputs") };
    let merge = job.with_plan(plan)?;
    state.phases.begin("index", 0);
    let read = Arc::default();
    let mut runs = open_runs(&merge, &state.io, &stretches.sorted, &read)?;
    if !stretches.rest.is_empty() {
        let bytes = stretches.rest_records() * plan.record_bytes;
        state.phases.begin("sort", bytes);
        runs.extend(sort_rest(&merge, &state.io, stretches, &read)?);
    }
    let kept = std::mem::replace(&mut state.memory, memory);
    let merged = merge_runs(&merge, shape, runs, state);
    state.memory = kept;
    let output = merged.map_err(|error| match error {
        // Cuts in a block that isn't in order can leave records out.
        Error::Lost { .. } => Error::NotInOrder,
        error => error,
    })?;
    state.io.read = *read.lock();
    Ok(output)
}

/// Reads the index of each stretch. Returns each as a run.
fn open_runs(
    job: &SortJob<'_>,
    io: &SortIo<'_>,
    stretches: &[Stretch],
    read: &Arc<Mutex<Checksum>>,
) -> Result<Vec<Run>, Error> {
    let SortJob { kernels, record_bytes, plan, .. } = *job;
    let block_records = records_of_block(plan.block_bytes, plan.record_bytes);
    let run = |&Stretch { input, from, records }: &Stretch| {
        let blocks = records.div_ceil(block_records) as usize;
        let index = Index::with_capacity(kernels.key_bytes(), blocks);
        let (file, read) = (io.input_files[input], Arc::clone(read));
        Run { index, place: Place::Input(SortedInput { file, from, block_records, read }) }
    };
    let mut runs: Vec<Run> = stretches.iter().map(run).collect();
    let reads = stretches.iter().enumerate().flat_map(|(run, stretch)| {
        let &Stretch { input, from, records } = stretch;
        let read = move |record, block| {
            let file = io.input_files[input];
            let RecordRange { pages, lead } =
                RecordRange::new(file, from + record, 1, record_bytes);
            (pages, (lead, run, block))
        };
        let blocks = (0..records).step_by(block_records as usize);
        let blocks = blocks.map(move |first| read(first, Some(block_records.min(records - first))));
        blocks.chain([read(records - 1, None)])
    });
    let buffer_bytes = align_up(record_bytes as u64) as usize + ALIGNMENT;
    // In memory that the merge needs only later.
    let reads_max = plan.pool_bytes as usize / 4 / buffer_bytes;
    let buffers = (0..reads_max.clamp(1, KEY_READS_MAX)).map(|_| Lease::map(buffer_bytes));
    let buffers = buffers.collect::<Result<_, _>>()?;
    job.read_in_order(buffers, reads, |(lead, run, block_records), read| {
        let (record, index): (_, &mut Index) = (&read[lead..], &mut runs[run].index);
        let last = index.blocks().len().checked_sub(1);
        if last.is_some_and(|last| kernels.compare_encoded(record, index.key(last)).is_lt()) {
            return Err(Error::NotInOrder);
        }
        let encode = |out: &mut [u8]| kernels.encode(record, out);
        match block_records {
            None => index.set_largest(encode),
            Some(records) => {
                index.push_key(encode);
                let (address, records) = (BlockAddress::NOT_ON_SCRATCH, records as u32);
                index.push(Block { address, records, compressed: None, seal: 0 });
            }
        }
        Ok(())
    })?;
    Ok(runs)
}

/// Finds the cause of a failed check: the first record that isn't in order, or a file that has
/// changed.
fn explain(job: &SortJob<'_>, io: &SortIo<'_>, paths: &[PathBuf]) -> Error {
    if let Err(error) = job.disk.check_all_unchanged(io.input_files) {
        return error.into();
    }
    let inputs = io.input_files.iter().zip(io.input_bytes).zip(paths);
    for ((&file, &bytes), path) in inputs {
        match first_disorder(job, file, bytes / job.record_bytes as u64) {
            Ok(None) => {}
            Ok(Some(Disorder { number, key, before })) => {
                let reason = format!(
                    "record {}, at byte {}, belongs before the record before it, so the file is \
                     not in order: its key is {key} after {before}: sort it first, or sort all \
                     inputs together (--merge=any)",
                    number + 1,
                    number * job.record_bytes as u64,
                );
                return Error::Unordered { path: path.clone(), reason };
            }
            Err(error) => return error,
        }
    }
    Error::Lost { what: "the order of inputs that are in order".into() }
}

/// A record that belongs before the record before it.
struct Disorder {
    /// The record's number, from 0.
    number: u64,
    /// Its key, and that of the record before it.
    key: String,
    before: String,
}

/// Searches the first `records` records of a file.
fn first_disorder(
    job: &SortJob<'_>,
    file: FileId,
    records: u64,
) -> Result<Option<Disorder>, Error> {
    let SortJob { kernels, record_bytes, .. } = *job;
    let mut last: Option<Vec<u8>> = None;
    let mut found = None;
    let searched = read_pieces(job, pieces(job, file, 0, records), |first, read| {
        for (number, record) in (first..).zip(read.chunks_exact(record_bytes)) {
            let last = last.get_or_insert_with(|| record.to_vec());
            if kernels.compare(last, record).is_gt() {
                let (key, before) = (shown_key(job, record), shown_key(job, last));
                found = Some(Disorder { number, key, before });
                return Err(Error::NotInOrder);
            }
            last.copy_from_slice(record);
        }
        Ok(())
    });
    match searched {
        Ok(_) | Err(Error::NotInOrder) => Ok(found),
        Err(error) => Err(error),
    }
}

/// The key of a record in hexadecimal, in the form that compares as bytes.
fn shown_key(job: &SortJob<'_>, record: &[u8]) -> String {
    let mut key = vec![0; job.kernels.key_bytes()];
    job.kernels.encode(record, &mut key);
    let shown = &key[..key.len().min(SHOWN_BYTES)];
    let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    if shown.len() < key.len() { digits + "..." } else { digits }
}
