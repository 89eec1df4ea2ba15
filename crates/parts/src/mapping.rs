//! The step of a slice. It writes the sorted data, its index, and then its manifest, so that a
//! slice without a manifest is a slice that wasn't mapped.

use crate::document::{read_document, write_document};
use crate::error::Error;
use crate::index::{read_entry, write_index};
use crate::input_tag::check_unchanged;
use crate::job::{Job, Slice};
use crate::manifest::{Manifest, SliceFiles};
use crate::means::Means;
use crate::splitters::Splitters;
use crate::steps::Steps;
use std::fs;
use std::path::Path;
use xsort_disk::Operation;

/// A sorted slice.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Its manifest.
    pub manifest: Manifest,
    /// Whether it had been mapped before.
    pub is_old: bool,
}

/// Sorts a slice to its file in `directory`, cut at the splitters, and writes its manifest next to
/// it. A slice that has already been mapped with the same splitters is left unchanged.
///
/// # Errors
/// If the splitters are from another job or the inputs have changed, and the errors of a sort.
pub fn map_slice(
    steps: &dyn Steps,
    (job, splitters): (&Job, &Splitters),
    slice: usize,
    directory: &Path,
    means: &Means<'_>,
) -> Result<Mapped, Error> {
    check_splitters(job, splitters)?;
    let Some(Slice { index, .. }) = job.slices.get(slice) else {
        let last = job.slices.len() - 1;
        return Err(Error::settings(format!("there is no slice {slice}: the last one is {last}")));
    };
    let files = SliceFiles::of(directory, *index);
    if let Some(manifest) = mapped_before((job, splitters), slice, directory, means)? {
        return Ok(Mapped { manifest, is_old: true });
    }
    check_inputs(&job.slices[slice], means)?;
    let ranges = steps.map((job, splitters), slice, &files, means)?;
    // If an input was written to in the meantime, the data read may be a mixture.
    check_inputs(&job.slices[slice], means)?;
    let manifest = Manifest::new(job, splitters, slice, ranges);
    write_index(&means.job.disk, &files.index, &manifest, means.sync)?;
    write_document(&means.job.disk, &files.manifest, &manifest, means.sync)?;
    Ok(Mapped { manifest, is_old: false })
}

fn check_splitters(job: &Job, splitters: &Splitters) -> Result<(), Error> {
    if splitters.job != job.id {
        let (of, id) = (&splitters.job, &job.id);
        return Err(Error::settings(format!("the splitters belong to the job {of}, not to {id}")));
    }
    let wanted = if job.bytes == 0 { 0 } else { job.parts - 1 };
    match splitters.splitters.len() {
        count if count == wanted => Ok(()),
        count => Err(Error::settings(format!(
            "there are {count} splitters, and a job of {} parts needs {wanted}",
            job.parts
        ))),
    }
}

/// Fails if an input has changed since the job was planned.
fn check_inputs(slice: &Slice, means: &Means<'_>) -> Result<(), Error> {
    let mut inputs = slice.inputs.iter();
    inputs
        .try_for_each(|input| check_unchanged(&*means.job.disk, Path::new(&input.path), &input.tag))
}

/// Returns the manifest of a slice that was mapped before, with the same splitters and data of the
/// right length. A manifest that can't be used is removed, before other data is written.
fn mapped_before(
    (job, splitters): (&Job, &Splitters),
    slice: usize,
    directory: &Path,
    means: &Means<'_>,
) -> Result<Option<Manifest>, Error> {
    let files = SliceFiles::of(directory, slice);
    if !files.manifest.exists() {
        return Ok(None);
    }
    if let Ok(found) = read_document::<Manifest>(&means.job.disk, &files.manifest) {
        if found.job != job.id {
            let reason = format!(
                "it belongs to the job {}, not to {}: choose another directory (--to), or remove \
                 it",
                found.job, job.id
            );
            return Err(Error::input(&files.manifest, reason));
        }
        let has_data = fs::metadata(&files.data).is_ok_and(|data| data.len() == found.bytes);
        let is_same = found.splitters == splitters.id && found.slice == slice;
        let has_index = matches!(read_entry(directory, slice, 0), Ok(Some(_)));
        if is_same && has_data && has_index && found.parts.len() == job.parts {
            return Ok(Some(found));
        }
    }
    fs::remove_file(&files.manifest)
        .map_err(|error| xsort_disk::Error::new(Operation::Remove, &files.manifest, error))?;
    Ok(None)
}
