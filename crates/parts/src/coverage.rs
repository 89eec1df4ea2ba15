//! Collects the entries that sources have for one part, and checks that they cover every slice
//! exactly once.

use crate::document::read_whole;
use crate::error::Error;
use crate::index::read_entry;
use crate::job::Job;
use crate::manifest::SliceFiles;
use crate::part_entry::PartEntry;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, DisplayPath, is_url};

/// A place with sorted slices, and its entries for one part.
#[derive(Clone, Debug)]
pub struct PartSource {
    /// The directory or URL.
    pub origin: String,
    /// Its entries for the part.
    pub entries: Vec<PartEntry>,
}

impl PartSource {
    /// Returns the path of the data of one of its slices.
    #[must_use]
    pub fn data(&self, slice: usize) -> PathBuf {
        let origin = self.origin.strip_suffix('/').unwrap_or(&self.origin);
        SliceFiles::of(Path::new(origin), slice).data
    }
}

/// Returns a source's entries for a part. The source is a directory, or the URL of a server of one.
///
/// # Errors
/// [`Error::LostSource`] if the source can't be read; an error if a manifest in a directory is
/// invalid.
pub fn entries_of(
    disk: &Arc<dyn Disk>,
    origin: &Path,
    part: usize,
) -> Result<Vec<PartEntry>, Error> {
    let lost = |cause: Error| {
        let origin = origin.to_string_lossy().into_owned();
        Error::LostSource { origin, cause: Box::new(cause) }
    };
    if !is_url(origin) {
        return entries_in(origin, part).map_err(|error| match error {
            Error::Engine(xsort_extsort::Error::Disk(error)) => lost(error.into()),
            wrong => wrong,
        });
    }
    let url = origin.join(format!("parts/{part}"));
    let text = read_whole(disk, &url).map_err(lost)?;
    serde_json::from_slice(&text)
        .map_err(|error| lost(Error::input(&url, format!("it is no list of slices: {error}"))))
}

/// Returns the entries for a part of all slices in a directory that have a manifest.
///
/// # Errors
/// If the directory or an index can't be read, or an index is invalid.
pub fn entries_in(directory: &Path, part: usize) -> Result<Vec<PartEntry>, Error> {
    let entry = |slice| read_entry(directory, slice, part);
    slices_in(directory)?.into_iter().filter_map(|slice| entry(slice).transpose()).collect()
}

/// Returns the slices in a directory that have a manifest, in ascending order.
///
/// # Errors
/// If the directory can't be read.
pub(crate) fn slices_in(directory: &Path) -> Result<Vec<usize>, Error> {
    let mut slices = Vec::new();
    let fail = |error| xsort_disk::Error::new(xsort_disk::Operation::Inspect, directory, error);
    for entry in fs::read_dir(directory).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        slices.extend(name.to_str().and_then(SliceFiles::slice_of_manifest));
    }
    slices.sort_unstable();
    Ok(slices)
}

/// Returns the entries for a part in the order of the slices, each with the number of its source.
/// If several sources have the same entry, the first source is used.
///
/// # Errors
/// If a slice is missing, if sources differ, or if slices are from another job or were cut at other
/// splitters.
pub fn cover(
    job: &Job,
    part: usize,
    sources: &[PartSource],
) -> Result<Vec<(usize, PartEntry)>, Error> {
    let mut found: Vec<Option<(usize, PartEntry)>> = vec![None; job.slices.len()];
    let mut splitters = None;
    for (number, PartSource { origin, entries }) in sources.iter().enumerate() {
        for entry in entries {
            let slice = entry.slice;
            let wrong = |what: String| {
                Err(Error::input(Path::new(origin), format!("slice {slice} {what}")))
            };
            if entry.job != job.id {
                return wrong(format!("belongs to the job {}, not to {}", entry.job, job.id));
            }
            if *splitters.get_or_insert(&entry.splitters) != &entry.splitters {
                return wrong("was cut at other splitters than the slices before it".into());
            }
            match found.get_mut(slice) {
                None => return wrong("is one that the job doesn't have".into()),
                Some(place @ None) => *place = Some((number, entry.clone())),
                Some(Some((_, known))) if known == entry => {}
                Some(Some((other, _))) => {
                    let other = DisplayPath(&sources[*other].origin);
                    return wrong(format!("is another one than that of {other}: map it again"));
                }
            }
        }
    }
    let slices: Vec<usize> = (0..found.len()).filter(|&slice| found[slice].is_none()).collect();
    match slices.is_empty() {
        true => Ok(found.into_iter().flatten().collect()),
        false => Err(Error::MissingSlices { part, slices }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Slice;

    fn job(slices: usize) -> Job {
        let slice = |index| Slice { index, ..Slice::default() };
        Job::new(Vec::new(), (None, None), (0..slices).map(slice).collect(), 2)
    }

    fn entry(job: &Job, slice: usize, records: u64) -> PartEntry {
        let (job, splitters) = (job.id.clone(), "s".to_owned());
        PartEntry { job, splitters, slice, offset: 0, bytes: 10, records, sum: 1 }
    }

    fn source(origin: &str, entries: Vec<PartEntry>) -> PartSource {
        PartSource { origin: origin.into(), entries }
    }

    #[test]
    fn every_slice_is_wanted_once() {
        let job = job(3);
        let of = |slice| entry(&job, slice, 1);
        let sources = [source("a", vec![of(2), of(0)]), source("b", vec![of(1), of(2)])];
        let found = cover(&job, 0, &sources).unwrap();
        let found: Vec<_> = found.iter().map(|(source, entry)| (*source, entry.slice)).collect();
        assert_eq!(found, [(0, 0), (1, 1), (0, 2)]);
    }

    #[test]
    fn missing_slices_are_listed() {
        let job = job(5);
        let sources = [source("a", vec![entry(&job, 1, 1)])];
        let error = cover(&job, 0, &sources).unwrap_err();
        let Error::MissingSlices { part: 0, ref slices } = error else { panic!("{error}") };
        assert_eq!(slices[..], [0, 2, 3, 4]);
        assert!(error.to_string().contains("0, 2-4"), "{error}");
    }

    #[test]
    fn what_differs_or_belongs_elsewhere_is_refused() {
        let (job, other) = (job(1), job(2));
        let of = |records| entry(&job, 0, records);
        let cut = |entry| PartEntry { splitters: "t".into(), ..entry };
        for (second, expected) in [
            (of(2), "b: slice 0 is another one than that of a"),
            (entry(&other, 0, 1), "belongs to the job"),
            (entry(&job, 1, 1), "the job doesn't have"),
            (cut(of(1)), "other splitters"),
        ] {
            let sources = [source("a", vec![of(1)]), source("b", vec![second])];
            let error = cover(&job, 0, &sources).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn data_lies_beside_the_manifests() {
        let data = |origin: &str| source(origin, Vec::new()).data(7);
        assert_eq!(data("/tmp/x/"), Path::new("/tmp/x/slice-7.data"));
        assert_eq!(data("http://h:1/token"), Path::new("http://h:1/token/slice-7.data"));
    }
}
