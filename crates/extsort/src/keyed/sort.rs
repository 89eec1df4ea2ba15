//! The outline of a sort of keyed records.

use super::encode::RECORD_END;
use super::keying_threads::KeyingMemory;
use super::order::ByKey;
use super::restore::Restore;
use crate::job::least_budget::least_budget;
use crate::lines::{
    FileOutput, LinesDryRun, LinesInput, LinesOptions, LinesReport, OutputForm, SegmentForm,
    SortedOutput, dry_run_lines, merge_formed, sort_formed,
};
use crate::{Error, Observer};
use xsort_disk::Disk;

/// The share of the memory for building keys.
const PIECES: &str = "pieces whose keys are built";

/// The engine's settings for keyed records: the byte that ends them, and the memory for building
/// keys and writing records.
#[must_use]
pub fn of_keyed(engine: &LinesOptions) -> LinesOptions {
    let threads = engine.threads;
    let keying = move |budget| KeyingMemory::of_budget(budget, threads).taken_bytes;
    let reservation = engine
        .reservation
        .clone()
        .with_share(PIECES, keying)
        .with("output blocks", FileOutput::MEMORY_BYTES);
    LinesOptions { delimiter: RECORD_END, reservation, ..engine.clone() }
}

/// Plans a sort of `bytes` bytes, with settings from [`of_keyed`]. Records with their keys take
/// more scratch than their input has bytes. That is known only when they are read, so
/// `scratch_bytes` is unknown unless it is zero.
///
/// # Errors
///
/// [`Error::Memory`] if the budget is too small.
pub fn plan_keyed(options: &LinesOptions, bytes: Option<u64>) -> Result<LinesDryRun, Error> {
    let plan = dry_run_lines(options, &ByKey, bytes, None)?;
    Ok(LinesDryRun { scratch_bytes: plan.scratch_bytes.filter(|&bytes| bytes == 0), ..plan })
}

/// The engine's settings for a merge of `inputs` inputs of keyed records, made of those of
/// [`of_keyed`].
///
/// # Errors
///
/// [`Error::Memory`] if the pieces of so many inputs take more than half of the budget.
pub fn of_merged(engine: &LinesOptions, inputs: usize) -> Result<LinesOptions, Error> {
    let LinesOptions { budget_bytes, threads, .. } = *engine;
    let keying = move |budget| KeyingMemory::of_merge(budget, threads, inputs).taken_bytes;
    let is_enough = |budget| keying(budget) <= budget / 2;
    if !is_enough(budget_bytes) {
        let needed_bytes = least_budget(budget_bytes, 1 << 20, is_enough).unwrap_or(u64::MAX);
        return Err(Error::Memory { budget_bytes, needed_bytes });
    }
    let reservation = engine.reservation.clone().without(PIECES).with_share(PIECES, keying);
    Ok(LinesOptions { reservation, ..engine.clone() })
}

/// Merges the keyed records of `inputs`, each of which is in order, and writes `head` and the
/// records without their keys to `output`. Checks the order while it merges. `options` must come
/// from [`of_merged`]. The report's bytes are those of keyed records, except the written ones.
///
/// # Errors
///
/// [`Error::NotSorted`] if an input isn't in order; otherwise the errors of
/// [`sort_lines`](crate::sort_lines).
pub fn merge_keyed(
    options: &LinesOptions,
    head: &[u8],
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    merge_formed(options, &ByKey, inputs, output, Some(restored(head)), disk, observer)
}

/// Sorts the keyed records of `inputs`, and writes `head` and the records without their keys to
/// `output`. With a checkpoint it writes to the checkpoint's output instead. `options` must come
/// from [`of_keyed`]. The report's bytes are those of keyed records, except the written ones.
///
/// # Errors
///
/// The errors of [`sort_lines`](crate::sort_lines).
pub fn sort_keyed(
    options: &LinesOptions,
    head: &[u8],
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    sort_formed(options, &ByKey, inputs, output, restored(head), disk, observer)
}

/// The form of an output of `head` and the records without their keys.
fn restored(head: &[u8]) -> OutputForm<'_> {
    fn segment() -> Box<dyn SegmentForm> {
        Box::new(Restore::default())
    }
    OutputForm { head, segment: &segment, sums: None }
}
