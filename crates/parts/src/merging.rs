//! The step of a part: the ranges of all slices for it, merged to its output.

use crate::coverage::{PartSource, cover};
use crate::error::Error;
use crate::input_tag::input_tag;
use crate::job::{Job, path_text};
use crate::means::Means;
use crate::merge_range::MergeRange;
use crate::part_entry::PartEntry;
use crate::steps::Steps;
use crate::summary::Summary;
use std::path::Path;

/// Merges a part to `output`, a path or a URL, from the sources' slices.
///
/// # Errors
/// If a slice is missing, a source fails, the data read differs from what was written, or the
/// output can't be written. Then an old file at `output` is still there.
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
    let merged = steps.merge(job, &ranges, output, means)?;
    let (tag, _) = input_tag(&*means.job.disk, output)?;
    Ok(Summary::new((job, splitters), part, merged, (name, tag)))
}
