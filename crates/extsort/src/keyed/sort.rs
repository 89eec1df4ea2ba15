//! The outline of a sort of keyed records.

use super::encode::RECORD_END;
use super::keying_threads::KeyingMemory;
use super::order::ByKey;
use super::restore::Restore;
use crate::variable::{
    FileOutput, LinesDryRun, LinesInput, LinesOptions, LinesReport, OutputForm, Reservation,
    SegmentForm, SortedOutput, dry_run_lines, sort_formed,
};
use crate::{Error, Observer};
use xsort_disk::Disk;

/// The engine's settings for keyed records: what marks their ends, and the memory for what makes
/// their keys and writes them.
#[must_use]
pub fn of_keyed(engine: &LinesOptions) -> LinesOptions {
    let threads = engine.threads;
    let keying = move |budget| KeyingMemory::of_budget(budget, threads).taken_bytes;
    let reservation = engine.reservation.clone().and(Reservation::share(keying));
    LinesOptions {
        delimiter: RECORD_END,
        reservation: reservation.and(FileOutput::MEMORY_BYTES),
        ..engine.clone()
    }
}

/// What a sort of `bytes` bytes would use, by the settings that [`of_keyed`] made. With their keys
/// records take more scratch than that, which is known when they are read.
///
/// # Errors
/// [`Error::Memory`] if the budget is too small.
pub fn plan_keyed(options: &LinesOptions, bytes: Option<u64>) -> Result<LinesDryRun, Error> {
    let plan = dry_run_lines(options, &ByKey, bytes, None)?;
    Ok(LinesDryRun { scratch_bytes: plan.scratch_bytes.filter(|&bytes| bytes == 0), ..plan })
}

/// Sorts the keyed records of `inputs`, and writes `head` and the records to `output` without their
/// keys; with a checkpoint, to the output that this names. The settings are those that [`of_keyed`]
/// made. The report's bytes are those of keyed records, but for the written ones.
///
/// # Errors
/// As [`sort_lines`](crate::sort_lines).
pub fn sort_keyed(
    options: &LinesOptions,
    head: &[u8],
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let segment = || -> Box<dyn SegmentForm> { Box::new(Restore::default()) };
    let form = OutputForm { head, segment: &segment, sums: None };
    sort_formed(options, &ByKey, inputs, output, form, disk, observer)
}
