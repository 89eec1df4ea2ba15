//! The resources of a step.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort::Job;
use xsort_disk::Disk;
use xsort_extsort::{Caches, LinesOptions, Observer, Reservation, scratch_directories};

/// Memory, threads, disk and scratch of a step, and its observer.
pub struct Means<'m> {
    /// All files and URLs.
    pub disk: Arc<dyn Disk>,
    /// Memory for everything that grows with the data, in bytes.
    pub budget_bytes: u64,
    /// Number of worker threads, at least 1.
    pub threads: usize,
    /// The processor's caches as far as a thread may use them.
    pub caches: Caches,
    /// Directories for scratch. Empty means the output's directory.
    pub scratch: Vec<PathBuf>,
    /// Makes the output durable before it is published.
    pub sync: bool,
    /// The observer.
    pub observer: &'m dyn Observer,
}

impl<'m> Means<'m> {
    /// What a job has, watched by `observer`, with scratch beside its output.
    pub fn new(job: &Job, observer: &'m dyn Observer) -> Means<'m> {
        Means {
            disk: Arc::clone(&job.disk),
            budget_bytes: job.budget_bytes,
            threads: job.threads,
            caches: job.caches,
            scratch: Vec::new(),
            sync: true,
            observer,
        }
    }

    /// Returns the settings of the engine of lines for records that end with `delimiter`, sorted or
    /// merged to `output`. `reservation` has the shares of the budget that are used elsewhere.
    pub(crate) fn engine(
        &self,
        delimiter: u8,
        reservation: Reservation,
        output: &Path,
    ) -> LinesOptions {
        LinesOptions {
            delimiter,
            is_unique: false,
            budget_bytes: self.budget_bytes,
            reservation,
            threads: self.threads,
            caches: self.caches,
            scratch: scratch_directories(&self.scratch, output),
            codec: None,
            output_file: None,
            checkpoint: None,
        }
    }
}
