//! Merging inputs that are in order, where they are: each is read once, as the forecast says.
//!
//! ```text
//! input  | block | block | block | block |
//!        key     key     key     key   key    read first: the index
//! ```
//!
//! The index of an input has the first key of each block, and the last key of all. The merge checks
//! each block when it gets there: its first key is the index's, its records are in order, and none
//! is greater than the next block's first. If a check fails, the inputs are searched for the first
//! record that isn't in order.

use super::compression::Compression;
use super::job::{CompleteOutput, SortIo, SortJob, SortState};
use super::plan::MergeShape;
use super::runs::{
    Block, Index, Place, RecordRange, Run, SortedInput, merge_runs, records_of_block,
};
use crate::Error;
use crate::job::failure::Failure;
use crate::store::scratch::BlockAddress;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, FileId, Lease, align_up};
use xsort_records::Checksum;

/// Most reads in flight while keys are read.
const KEY_READS_MAX: usize = 32;
/// Most reads in flight while a disorder is searched for, and bytes of each.
const SEARCH_READS_MAX: usize = 4;
const SEARCH_BYTES: usize = 1 << 20;
/// Most bytes of a key in an error.
const SHOWN_BYTES: usize = 32;

/// Merges the inputs, whose paths are `paths`. The output is then complete but not published.
///
/// # Errors
/// [`Error::Input`] if an input isn't in order, with the first record that isn't.
pub(super) fn merge_inputs(
    job: &SortJob<'_>,
    paths: &[PathBuf],
    shape: &MergeShape,
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    let merge = SortJob {
        scratch: None,
        compression: Compression::new(None, job.plan.threads, job.plan.block_bytes)?,
        spool: None,
        failure: Failure::default(),
        ..*job
    };
    state.phases.begin("index", 0);
    let read = Arc::default();
    let merged =
        open_runs(&merge, &state.io, &read).and_then(|runs| merge_runs(&merge, shape, runs, state));
    state.io.read = *read.lock();
    merged.map_err(|error| match error {
        Error::NotInOrder | Error::Lost { .. } => explain(job, &state.io, paths, error),
        error => error,
    })
}

/// Reads the indexes of all inputs that have records. Returns each as a run.
fn open_runs(
    job: &SortJob<'_>,
    io: &SortIo<'_>,
    read: &Arc<Mutex<Checksum>>,
) -> Result<Vec<Run>, Error> {
    let SortJob { kernels, record_bytes, plan, .. } = *job;
    let block_records = records_of_block(plan.block_bytes, plan.record_bytes);
    let inputs = || {
        let all = io.input_files.iter().zip(io.input_bytes);
        let records = |(&file, bytes): (&FileId, &u64)| (file, bytes / record_bytes as u64);
        all.map(records).filter(|(_, records)| *records > 0)
    };
    let run = |(file, records): (FileId, u64)| {
        let blocks = records.div_ceil(block_records) as usize;
        let index = Index::with_capacity(kernels.key_bytes(), blocks);
        let read = Arc::clone(read);
        Run { index, place: Place::Input(SortedInput { file, block_records, read }) }
    };
    let mut runs: Vec<Run> = inputs().map(run).collect();
    let reads = inputs().enumerate().flat_map(|(run, (file, records))| {
        let read = move |record, block| {
            let RecordRange { pages, lead } = RecordRange::new(file, record, 1, record_bytes);
            (pages, (lead, run, block))
        };
        let blocks = (0..records).step_by(block_records as usize);
        let blocks = blocks.map(move |from| read(from, Some(block_records.min(records - from))));
        blocks.chain([read(records - 1, None)])
    });
    let buffer_bytes = align_up(record_bytes as u64) as usize + ALIGNMENT;
    let buffers = (0..KEY_READS_MAX).map(|_| Lease::map(buffer_bytes)).collect::<Result<_, _>>()?;
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
/// changed. Returns `error` if there is neither.
fn explain(job: &SortJob<'_>, io: &SortIo<'_>, paths: &[PathBuf], error: Error) -> Error {
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
                     inputs together (leave out --merge)",
                    number + 1,
                    number * job.record_bytes as u64,
                );
                return Error::Input { path: path.clone(), reason };
            }
            Err(error) => return error,
        }
    }
    match error {
        Error::NotInOrder => Error::Lost { what: "the order of inputs that are in order".into() },
        error => error,
    }
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
    let piece = (SEARCH_BYTES / record_bytes).max(1) as u64;
    let buffer_bytes = align_up(piece * record_bytes as u64) as usize + ALIGNMENT;
    let buffers = (0..SEARCH_READS_MAX).map(|_| Lease::map(buffer_bytes));
    let buffers = buffers.collect::<Result<_, _>>()?;
    let reads = (0..records).step_by(piece as usize).map(|from| {
        let RecordRange { pages, lead } =
            RecordRange::new(file, from, piece.min(records - from), record_bytes);
        (pages, (from, lead))
    });
    let mut last: Option<Vec<u8>> = None;
    let mut found = None;
    let searched = job.read_in_order(buffers, reads, |(from, lead), read| {
        for (number, record) in (from..).zip(read[lead..].chunks_exact(record_bytes)) {
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
