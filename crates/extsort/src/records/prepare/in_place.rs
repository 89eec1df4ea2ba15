//! Deciding whether scratch is in the output's own file: by the drive's features and free space,
//! and by the gain from compression.

use super::space::{Space, SpaceUse};
use crate::records::options::{Method, SortOptions};
use crate::records::plan::{Facts, Plan, plan};
use crate::store::probe::probe;
use crate::{Codec, Error};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Disk, is_standard_output, is_url, parent_directory};

/// A drive is measured only for sorts of at least this size in bytes.
const PROBED_BYTES_MIN: u64 = 256 << 20;
/// Maximum duration of each of the drive's three measurements, which use `PROBE_BYTES` of memory.
/// They also take at most a hundredth of the time of the fastest possible sort.
const PROBE_TIME_MAX: Duration = Duration::from_millis(50);
const PROBED_BYTES_PER_NANOSECOND: u64 = 200;
const PROBE_BYTES: u64 = 16 << 20;
/// If the drive writes faster than this, compression gains nothing
/// (docs/experiments/2026-11-23-compression-auto.md).
const FAST_BYTES_PER_SECOND: f64 = 1e9;

/// True if scratch may be in the output's file: the file can be read back, and is on the scratch
/// drive.
pub(super) fn may_be_in_place(
    options: &SortOptions,
    scratch_directories: &[PathBuf],
    disk: &dyn Disk,
) -> Result<bool, Error> {
    if is_standard_output(&options.output) || is_url(&options.output) {
        return Ok(false);
    }
    // A user who names several directories wants scratch spread over them.
    let [directory] = scratch_directories else { return Ok(false) };
    let output_drive = disk.drive(&parent_directory(&options.output))?;
    if !output_drive.overwrites || disk.drive(directory)?.id != output_drive.id {
        return Ok(false);
    }
    Ok(options.codec.is_none_or(Codec::is_auto))
}

/// True if bins in place, which are never compressed, are better than compressed runs. This is so
/// on a fast drive. The drive is measured if the sort is large enough for the measurement's time
/// not to matter.
pub(super) fn is_best_in_place(
    plan: &Plan,
    options: &SortOptions,
    directory: &Path,
    disk: &dyn Disk,
) -> bool {
    if options.codec.is_none() {
        return true;
    }
    // Reads take half of the limit.
    let is_limited = disk.drive(directory).is_ok_and(|drive| {
        let limit = drive.limit_bytes_per_second.map_or(f64::MAX, |limit| limit as f64);
        limit <= 2.0 * FAST_BYTES_PER_SECOND
    });
    if plan.bytes < PROBED_BYTES_MIN || is_limited {
        return false;
    }
    let time = Duration::from_nanos(plan.bytes / PROBED_BYTES_PER_NANOSECOND).min(PROBE_TIME_MAX);
    // A drive that can't be measured, because it is full, is no reason to end the sort.
    let rates = probe(disk, directory, PROBE_BYTES.min(options.budget_bytes), time);
    rates.is_ok_and(|rates| rates.write_bytes_per_second > FAST_BYTES_PER_SECOND)
}

/// The plan, and how it fits on the drives. The plan is in place if `is_best` returns true for it,
/// or if no other plan has space.
///
/// # Errors
/// [`Error::Memory`], or [`Error::Space`] with the least space that is enough.
pub(super) fn plan_with_space(
    facts: &Facts,
    space: &Space<'_>,
    is_best: impl FnOnce(&Plan) -> bool,
) -> Result<(Plan, SpaceUse), Error> {
    let fitting = |facts: &Facts| {
        let planned = plan(facts)?;
        let space_use = space.check(&planned)?;
        Ok((planned, space_use))
    };
    // In place, the space of the output's file must be reserved before the inputs are read.
    let is_in_place =
        |(plan, space_use): &(Plan, SpaceUse)| plan.is_in_place() && !space_use.reserves_late;
    if facts.in_place
        && let Some(planned) = fitting(facts).ok().filter(is_in_place)
        && is_best(&planned.0)
    {
        return Ok(planned);
    }
    let refused = match fitting(&Facts { in_place: false, ..facts.clone() }) {
        Err(refused @ Error::Space { .. }) if facts.in_place && facts.method == Method::Auto => {
            refused
        }
        fits_or_not => return fits_or_not,
    };
    match fitting(&Facts { method: Method::Scatter, ..facts.clone() }) {
        Ok(planned) if is_in_place(&planned) => Ok(planned),
        Err(tight) if needed_bytes(&tight) < needed_bytes(&refused) => Err(tight),
        _ => Err(refused),
    }
}

/// The space in bytes that an error asks for.
fn needed_bytes(error: &Error) -> u64 {
    match error {
        Error::Space { needed_bytes, .. } => *needed_bytes,
        _ => u64::MAX,
    }
}
