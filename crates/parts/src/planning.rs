//! The first step: inputs become a job.

use crate::error::Error;
use crate::input_tag::input_tag;
use crate::job::{Job, JobInput, path_text};
use crate::means::Means;
use crate::slices::cut_slices;
use crate::steps::Steps;
use std::path::PathBuf;

/// How a job is divided.
#[derive(Clone, Copy, Debug)]
pub struct SliceSizes {
    /// Size of a slice in bytes, at least 1.
    pub slice_bytes: u64,
    /// The number of parts; if `None`, it is computed from `part_bytes`.
    pub parts: Option<usize>,
    /// Size of a part in bytes, at least 1.
    pub part_bytes: u64,
}

/// Plans the job that sorts these files with `steps`. `command` are the words of the command, and
/// `locale` is the locale on which it depends.
///
/// # Errors
/// If a file can't be opened, is of the wrong kind, or its name isn't UTF-8.
pub fn plan_job(
    steps: &dyn Steps,
    (command, locale): (Vec<String>, Option<String>),
    files: &[PathBuf],
    sizes: SliceSizes,
    means: &Means<'_>,
) -> Result<Job, Error> {
    let mut inputs = Vec::with_capacity(files.len());
    for path in files {
        if means.observer.is_cancelled() {
            return Err(xsort_extsort::Error::Cancelled.into());
        }
        let (tag, bytes) = input_tag(&*means.job.disk, path)?;
        steps.check_input(path, bytes)?;
        inputs.push(JobInput { path: path_text(path)?, bytes, tag });
    }
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let cut = |input: &JobInput, at| steps.cut(input, at, means);
    let slices = cut_slices(&inputs, sizes.slice_bytes, cut)?;
    let by_bytes = || bytes.div_ceil(sizes.part_bytes.max(1)) as usize;
    let parts = sizes.parts.unwrap_or_else(by_bytes).max(1);
    let header = steps.header(&inputs, means)?;
    Ok(Job::new(command, (locale, header), slices, parts))
}
