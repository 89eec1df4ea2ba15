//! What a sort reads and writes, as others see it.

use crate::inputs::expand::directory_of;
use crate::job::JobResources;
use crate::settings::{self, JobLimits};
use std::path::{Path, PathBuf};
use xsort_disk::is_url;

/// The directories of a sort of `inputs` to `output`; URLs have none. `scratch` are those that were
/// given.
pub(super) fn resources(
    inputs: &[PathBuf],
    scratch: &[PathBuf],
    output: &Path,
    limits: &JobLimits,
) -> JobResources {
    let outputs = settings::output_directories(output);
    let mut directories: Vec<_> = scratch.iter().map(|path| (path.clone(), "scratch")).collect();
    let inputs = inputs.iter().filter(|path| path.as_os_str() != "-" && !is_url(path));
    directories.extend(inputs.map(|path| (directory_of(path), "input")));
    directories.extend(outputs.iter().map(|path| (path.clone(), "output")));
    directories.dedup();
    JobResources {
        directories,
        hidden_file_directories: [&outputs, scratch].concat(),
        limit_bytes_per_second: limits.bytes_per_second(),
    }
}

/// The directories of a job that reads these files and writes none.
pub(super) fn resources_of_reading(files: [&[PathBuf]; 2], limits: &JobLimits) -> JobResources {
    let files = files.into_iter().flatten().filter(|path| !is_url(path));
    let mut directories: Vec<_> = files.map(|path| (directory_of(path), "input")).collect();
    directories.dedup();
    JobResources {
        directories,
        hidden_file_directories: Vec::new(),
        limit_bytes_per_second: limits.bytes_per_second(),
    }
}
