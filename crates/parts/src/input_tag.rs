//! Identifies the content of an input, so that a change between steps is noticed.

use crate::error::Error;
use std::path::Path;
use xsort_disk::{Disk, FileIdentity};

/// Returns the tag and length of a file or object. The tag consists of the length, the time of
/// writing, and a hash of the store's tag. It doesn't depend on the file's identity, so the file
/// may be on a file system that numbers its files differently on each machine.
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

/// Returns the tag of a file with this identity and length.
fn tag_of(identity: &FileIdentity, bytes: u64) -> String {
    let FileIdentity { modified: (seconds, nanoseconds), content, .. } = identity;
    match content {
        0 => format!("{bytes}-{seconds}.{nanoseconds:09}"),
        // A store's time of writing has whole seconds at best, and some stores have none.
        _ => format!("{bytes}-{content:016x}"),
    }
}

/// Fails if an input has changed since the job was planned.
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
