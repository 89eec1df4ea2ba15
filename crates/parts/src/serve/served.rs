//! What is served: a directory of sorted slices, to those who know the token.

use crate::manifest::Manifest;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use xsort_disk::Disk;

/// What is served.
pub(super) struct Served {
    pub(super) directory: PathBuf,
    /// For reading manifests.
    pub(super) disk: Arc<dyn Disk>,
    pub(super) token: String,
    /// Manifests by their slices, and the tag of the file that they were read from.
    pub(super) manifests: Mutex<HashMap<usize, (String, Arc<Manifest>)>>,
    pub(super) connections: AtomicUsize,
}
