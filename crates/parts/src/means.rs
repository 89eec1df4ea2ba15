//! What a step may use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::{Caches, LinesOptions, Observer, Reservation, scratch_directories};

/// Memory, threads, disk and scratch of a step, and who watches it.
pub struct Means<'m> {
    /// All files and URLs.
    pub disk: Arc<dyn Disk>,
    /// Memory for everything that grows with the data, in bytes.
    pub budget_bytes: u64,
    /// Threads that work, at least 1.
    pub threads: usize,
    /// What a thread may use of the processor's caches.
    pub caches: Caches,
    /// Directories for scratch. Empty: the output's.
    pub scratch: Vec<PathBuf>,
    /// Make the output durable before it is put in place.
    pub sync: bool,
    /// Who watches.
    pub observer: &'m dyn Observer,
}

impl Means<'_> {
    /// The settings of the engine of lines for records that end with `delimiter`, sorted or merged
    /// to `output`; what is reserved of the budget is used elsewhere.
    pub(crate) fn engine(
        &self,
        delimiter: u8,
        reservation: impl Into<Reservation>,
        output: &Path,
    ) -> LinesOptions {
        LinesOptions {
            delimiter,
            is_unique: false,
            budget_bytes: self.budget_bytes,
            reservation: reservation.into(),
            threads: self.threads,
            caches: self.caches,
            scratch: scratch_directories(&self.scratch, output),
            codec: None,
            output_file: None,
            checkpoint: None,
        }
    }
}
