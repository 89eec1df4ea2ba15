//! A dry run: the plan of a sort, and the time that its drive would need.

use super::bins::sample_reads;
use super::options::SortOptions;
use super::plan::Plan;
use super::prepare::{Preparation, prepare};
use super::report::floor_seconds;
use crate::job::units::Decimal;
use crate::store::probe::{DriveRates, probe};
use crate::{Error, Observer};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Disk, DisplayPath};

/// Duration of the measurement of each rate.
const PROBE_TIME: Duration = Duration::from_millis(250);
/// Memory for measuring a drive, in bytes.
const PROBE_BYTES: u64 = 16 << 20;

/// Measures the drive of a scratch directory.
pub(super) fn probe_directory(
    options: &SortOptions,
    disk: &dyn Disk,
    directory: &Path,
) -> Result<DriveRates, Error> {
    probe(disk, directory, PROBE_BYTES.min(options.budget_bytes), PROBE_TIME)
}

/// A plan, and its expected time on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct DryRun {
    /// The plan.
    pub plan: Plan,
    /// Number of reads that sample the inputs' keys before the sort.
    #[serde(skip)]
    pub sample_reads: u64,
    /// Scratch directories, with the bytes expected in each.
    #[serde(serialize_with = "super::report::directories_with_bytes")]
    pub scratch: Vec<(PathBuf, u64)>,
    /// The speed of the first scratch drive, if it was measured.
    pub drive: Option<DriveRates>,
    /// Seconds that the drive would need at that speed.
    pub expected_seconds: Option<f64>,
}

/// Runs all checks of a sort, and plans it. Moves no data, except to measure the drive if
/// `options.probe` is set.
pub fn dry_run(
    options: &SortOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<DryRun, Error> {
    let options = SortOptions { checkpoint: None, ..options.clone() };
    let Preparation::Sort(prepared) = prepare(&options, None, disk, observer)? else {
        unreachable!("without a checkpoint nothing is published before")
    };
    let plan = prepared.plan;
    let mut rates = Vec::new();
    for directory in &prepared.scratch_directories {
        if options.probe {
            rates.push(probe_directory(&options, disk, directory)?);
        }
    }
    let directories = prepared.scratch_directories;
    let weight =
        |directory: usize| rates.get(directory).map_or(1.0, |rates| rates.write_bytes_per_second);
    let weights: f64 = (0..directories.len()).map(weight).sum();
    let share =
        |directory: usize| (plan.scratch_bytes as f64 * weight(directory) / weights).ceil() as u64;
    let scratch = directories
        .iter()
        .enumerate()
        .map(|(number, path)| (path.clone(), share(number)))
        .collect();
    let drive = rates.first().copied();
    let expected_seconds =
        drive.map(|rates| floor_seconds(&rates, plan.read_bytes, plan.write_bytes));
    let sample_reads = sample_reads(&plan);
    Ok(DryRun { plan, sample_reads, scratch, drive, expected_seconds })
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.plan)?;
        // In place there is no file for scratch.
        let apart = self.scratch.iter().filter(|_| !self.plan.is_in_place());
        for (directory, bytes) in apart {
            write!(f, "\nscratch in       {}: {}", DisplayPath(directory), Decimal(*bytes as f64))?;
        }
        if let (Some(rates), Some(seconds)) = (&self.drive, self.expected_seconds) {
            write!(f, "\ndrive            {rates}\nexpected time    {seconds:.1} s")?;
        }
        Ok(())
    }
}
