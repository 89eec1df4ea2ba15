//! What a step may use.

use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::{Caches, Observer};

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
