//! The directories for scratch.

use std::path::{Path, PathBuf};
use xsort_disk::{is_standard_output, is_url, parent_directory};

/// The scratch directories of a sort to `output`: the `given` ones. By default this is the output's
/// directory, or the system's temporary one if the output is standard output or a URL.
#[must_use]
pub fn scratch_directories(given: &[PathBuf], output: &Path) -> Vec<PathBuf> {
    match (given, is_standard_output(output) || is_url(output)) {
        ([], true) => vec![std::env::temp_dir()],
        ([], false) => vec![parent_directory(output)],
        _ => given.to_vec(),
    }
}
