//! Finding an interrupted sort by its output, without resuming it.

use super::names::CheckpointNames;
use crate::store::journal::{Journal, Step};
use crate::store::scratch_directories::scratch_directories;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Disk, Found};

/// A sort that `--resume` can continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptedSort {
    /// Path of the sort's journal.
    pub journal: PathBuf,
    /// The tag of the sort's output. In a store, it ends with the upload's identifier.
    pub output_tag: String,
}

/// Finds the interrupted sort to this output whose scratch is in `scratch`, or in the default
/// directory if `scratch` is empty. Returns `None` if there is none, if the sort is running, or if
/// its journal can't be read.
#[must_use]
pub fn interrupted_sort(
    disk: &dyn Disk,
    output: &Path,
    scratch: &[PathBuf],
) -> Option<InterruptedSort> {
    let names = CheckpointNames::of(output, &scratch_directories(scratch, output));
    // Opening a missing journal would create it.
    let Ok(Found::File { .. }) = disk.find(&names.journal) else { return None };
    let (journal, _) = Journal::open(disk, &names.journal, Duration::ZERO).ok()?;
    let output_tag = journal.replay(Step::Output).ok()??;
    Some(InterruptedSort { journal: names.journal, output_tag })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::journal::encoded;
    use xsort_disk::{SimDisk, SimOptions};

    #[test]
    fn a_sort_is_found_by_its_output_unless_it_runs() {
        let disk = SimDisk::new(SimOptions::default());
        let (output, scratch) = (Path::new("s3://b/out"), ["/scratch".into()]);
        assert_eq!(interrupted_sort(&disk, output, &scratch), None);
        let names = CheckpointNames::of(output, &scratch);
        let (journal, _) = Journal::open(&disk, &names.journal, Duration::ZERO).unwrap();
        journal.begin([(Step::Output, encoded(&"tag".to_owned()))].into()).unwrap();
        assert_eq!(interrupted_sort(&disk, output, &scratch), None, "it runs");
        drop(journal);
        let found = interrupted_sort(&disk, output, &scratch).unwrap();
        let expected = InterruptedSort { journal: names.journal, output_tag: "tag".into() };
        assert_eq!(found, expected);
        assert_eq!(interrupted_sort(&disk, Path::new("s3://b/other"), &scratch), None);
        assert_eq!((disk.open_files(), disk.paths().len()), (0, 1));
    }
}
