//! The step of a part: what all slices have of it, merged to its output.

use crate::coverage::{PartEntry, PartSource, cover};
use crate::error::Error;
use crate::input_tag::input_tag;
use crate::job::{Job, path_text};
use crate::means::Means;
use crate::steps::Steps;
use crate::summary::Summary;
use std::path::{Path, PathBuf};
use xsort_records::Checksum;

/// What a slice has of a part, and where.
#[derive(Clone, Debug)]
pub struct MergeRange {
    /// Its place, count and sum.
    pub entry: PartEntry,
    /// The file.
    pub path: PathBuf,
    /// The directory or URL that has it, for errors.
    pub origin: String,
}

impl MergeRange {
    /// An error of reading it.
    pub(crate) fn lost(&self, error: impl Into<Error>) -> Error {
        match error.into() {
            cancelled @ Error::Engine(xsort_extsort::Error::Cancelled) => cancelled,
            cause => Error::LostSource { origin: self.origin.clone(), cause: Box::new(cause) },
        }
    }

    /// Compares what has come of it with what was written.
    ///
    /// # Errors
    /// [`Error::DamagedSlice`] if that isn't the same.
    pub(crate) fn check(&self, came: Checksum) -> Result<(), Error> {
        let sent = self.entry.checksum();
        if came == sent {
            return Ok(());
        }
        let what = format!(
            "{} records with checksum {came} have come, and {} with {sent} were written",
            came.records(),
            sent.records()
        );
        let (slice, origin) = (self.entry.slice, self.origin.clone());
        Err(Error::DamagedSlice { slice, origin, what })
    }
}

/// Merges a part to `output`, a path or a URL, from what the sources have of it.
///
/// # Errors
/// If a slice is missing, a source fails, what comes isn't what was written, or the output can't be
/// written. What was at `output` is then still there.
pub fn merge_part(
    steps: &dyn Steps,
    job: &Job,
    part: usize,
    sources: &[PartSource],
    output: &Path,
    means: &Means<'_>,
) -> Result<Summary, Error> {
    if part >= job.parts {
        let last = job.parts - 1;
        return Err(Error::settings(format!("there is no part {part}: the last one is {last}")));
    }
    let name = path_text(output)?;
    let entries = cover(job, part, sources)?;
    let splitters = entries.first().map_or_else(String::new, |(_, of)| of.splitters.clone());
    let range = |(source, entry): (usize, PartEntry)| {
        let source = &sources[source];
        MergeRange { path: source.data(entry.slice), origin: source.origin.clone(), entry }
    };
    let ranges: Vec<MergeRange> =
        entries.into_iter().map(range).filter(|range| range.entry.bytes > 0).collect();
    let merged = steps.merge(job, part, &ranges, output, means)?;
    let (tag, _) = input_tag(&*means.disk, output)?;
    Ok(Summary::new((job, splitters), part, merged, (name, tag)))
}
