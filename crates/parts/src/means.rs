//! The resources of a step.

use std::path::{Path, PathBuf};
use xsort::Job;
use xsort_extsort::{LinesOptions, Observer, Reservation};

/// Memory, threads, disk and scratch of a step, and its observer.
pub struct Means<'m> {
    /// Memory, threads and disk.
    pub job: &'m Job,
    /// Directories for scratch. Empty means the output's directory.
    pub scratch: Vec<PathBuf>,
    /// Makes the output durable before it is published.
    pub sync: bool,
    /// The observer.
    pub observer: &'m dyn Observer,
}

impl<'m> Means<'m> {
    /// What a job has, watched by `observer`, with scratch beside its output.
    pub fn new(job: &'m Job, observer: &'m dyn Observer) -> Means<'m> {
        Means { job, scratch: Vec::new(), sync: true, observer }
    }

    /// Returns the settings of the engine of lines for records that end with `delimiter`, sorted or
    /// merged to `output`. `reservation` has the shares of the budget that are used elsewhere.
    pub(crate) fn engine(
        &self,
        delimiter: u8,
        reservation: Reservation,
        output: &Path,
    ) -> LinesOptions {
        LinesOptions { delimiter, reservation, ..self.job.engine(&self.scratch, output) }
    }
}
