//! What identifies the content of an input, so that a change between steps is seen.

use crate::error::Error;
use std::path::Path;
use xsort_disk::{Disk, FileIdentity};

/// The tag of a file or object: its length, when it was written, and a hash of what a store calls
/// its content. Not which file it is, so that it may lie on a file system that numbers its files
/// differently on each machine.
///
/// # Errors
/// If it can't be opened.
pub fn input_tag(disk: &dyn Disk, path: &Path) -> Result<(String, u64), Error> {
    let file = disk.open_input(path)?;
    let found = disk.file_bytes(file).and_then(|bytes| Ok((disk.identity(file)?, bytes)));
    disk.close(file);
    let (identity, bytes) = found?;
    Ok((tag_of(&identity, bytes), bytes))
}

/// The tag of a file with this identity and length.
fn tag_of(identity: &FileIdentity, bytes: u64) -> String {
    let FileIdentity { modified: (seconds, nanoseconds), content, .. } = identity;
    match content {
        0 => format!("{bytes}-{seconds}.{nanoseconds:09}"),
        // A store says when it was written in whole seconds at best, and some not at all.
        _ => format!("{bytes}-{content:016x}"),
    }
}

/// Refuses an input that isn't what it was when the job was planned.
pub(crate) fn check_unchanged(disk: &dyn Disk, path: &Path, planned: &str) -> Result<(), Error> {
    let (tag, _) = input_tag(disk, path)?;
    if tag == planned {
        return Ok(());
    }
    let reason = format!(
        "it has changed since the job was planned (it was {planned} and is {tag}): plan the job \
         again"
    );
    Err(Error::input(path, reason))
}
