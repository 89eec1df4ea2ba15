//! Inputs that are removed because they were asked to be, and are not needed any more.

use crate::Observer;
use std::collections::HashSet;
use std::path::Path;
use xsort_disk::{Disk, FileId};

/// Removes inputs, but for the one whose path is `kept`; returns whether any is gone. One that
/// can't be removed is no reason to throw the work away: whether the space is enough shows when it
/// is reserved.
pub(super) fn remove_inputs<'a>(
    disk: &dyn Disk,
    observer: &dyn Observer,
    inputs: impl Iterator<Item = (&'a Path, FileId)>,
    kept: Option<&Path>,
) -> bool {
    let mut any_is_gone = false;
    let mut seen = HashSet::new();
    for (path, file) in inputs {
        if Some(path) == kept || !seen.insert(path) {
            continue;
        }
        match disk.remove_input(file) {
            Ok(()) => any_is_gone = true,
            Err(error) => observer.notice(&format!("an input stays: {error}")),
        }
    }
    any_is_gone
}
