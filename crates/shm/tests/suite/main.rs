//! The crate from outside: one process, many processes, and processes that are killed, stopped,
//! forked, starved of space and rights.
//!
//! Tests that need a second process run this program again, with a role (`roles`). A test whose
//! means are missing (root, strace) says so and passes.
#![allow(clippy::print_stderr, reason = "notices of skipped tests")]

#[cfg(feature = "rkyv")]
mod archived;
mod crowd;
mod faults;
mod fork;
mod hostile;
mod kills;
mod lifetime;
mod local;
mod rights;
mod roles;
mod space;
mod stamp;
mod strangers;
mod syscalls;
mod versions;

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder on the build directory's file system, and a prefix in it.
fn on_disk() -> (TempDir, PathBuf) {
    in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// A folder in memory, where there is such a file system.
fn in_memory() -> (TempDir, PathBuf) {
    let folder = Path::new("/dev/shm");
    if folder.is_dir() { in_folder(folder) } else { on_disk() }
}

fn in_folder(folder: &Path) -> (TempDir, PathBuf) {
    let folder = tempfile::Builder::new().prefix("xsort-shm-test-").tempdir_in(folder).unwrap();
    let prefix = folder.path().join("p");
    (folder, prefix)
}

/// The names in a folder, sorted.
fn names(folder: &TempDir) -> Vec<String> {
    let names = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
