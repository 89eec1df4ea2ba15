//! Removing inputs on request (`--remove-input`), once they are not needed any more.

use crate::Observer;
use std::collections::HashSet;
use std::path::Path;
use xsort_disk::{Disk, DisplayPath, FileId, is_url};

/// Removes inputs, except one at the path of the `output`: without one, because their space is
/// needed for it, which objects have none of. Returns whether any is gone. An input
/// that can't be removed is no reason to fail: whether the space is enough shows when it is
/// reserved.
pub(super) fn remove_inputs<'a>(
    disk: &dyn Disk,
    observer: &dyn Observer,
    inputs: impl Iterator<Item = (&'a Path, FileId)>,
    output: Option<&Path>,
) -> bool {
    let mut any_is_gone = false;
    let mut seen = HashSet::new();
    for (path, file) in inputs {
        if Some(path) == output || !seen.insert(path) {
            continue;
        }
        if output.is_none() && is_url(path) {
            let path = DisplayPath(path);
            observer.notice(&format!("an input stays, for its space isn't needed: {path}"));
            continue;
        }
        match disk.remove_input(file) {
            Ok(()) => any_is_gone = true,
            Err(error) => observer.notice(&format!("an input stays: {error}")),
        }
    }
    any_is_gone
}
