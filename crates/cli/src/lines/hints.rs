//! Hints for commands that fail because an option means something else in the other commands.

use super::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xsort::size::Memory;
use xsort_disk::is_url;
use xsort_gnu::sort::Command;

/// Adds a hint to the failure, if there is one for this command.
pub(super) fn add(failure: Failure, command: &Command) -> Failure {
    match hint(command) {
        Some(hint) => Failure::Hinted(Box::new(failure), hint),
        None => failure,
    }
}

fn hint(command: &Command) -> Option<String> {
    missing_size(command).or_else(|| unread_directory(command))
}

/// The hint for a directory among the files, which GNU sort can't read.
fn unread_directory(command: &Command) -> Option<String> {
    let is_directory = |name: &OsString| match is_url(Path::new(name)) {
        true => name.as_bytes().ends_with(b"/"),
        false => Path::new(name).is_dir(),
    };
    let has_directory = command.files.iter().any(is_directory);
    (has_directory && !command.extras.recursive)
        .then(|| "--recursive reads all files below a directory".to_owned())
}

/// The hint for `-m 1G`, written as for the other commands, if there is no file `1G`.
fn missing_size(command: &Command) -> Option<String> {
    let is_missing_size = |name: &&OsString| is_size(name) && !Path::new(name).exists();
    let size = command.files.iter().find(is_missing_size).filter(|_| command.merge)?;
    let size = size.to_string_lossy();
    Some(format!("-m merges, as in GNU sort; for the memory say --memory {size} or -S {size}"))
}

/// True if the name is an amount of memory with a unit.
fn is_size(name: &OsStr) -> bool {
    let text = name.to_str().filter(|text| !text.ends_with(|last: char| last.is_ascii_digit()));
    text.is_some_and(|text| text.parse::<Memory>().is_ok())
}
