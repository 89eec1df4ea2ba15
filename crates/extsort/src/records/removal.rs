//! Removing inputs on request (`--remove-input`), once they are no longer needed.

use crate::Observer;
use std::collections::HashSet;
use std::path::Path;
use xsort_disk::{Disk, DisplayPath, FileId, is_url};

/// Removes the inputs, keeping any at `output`'s path. With `output: None` it removes them early to
/// free their space; objects use no local space and stay. Returns true if any was removed. A failed
/// removal is only a notice: reserving the output's space shows whether there is enough.
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
