//! The files of jobs in a directory: `PID.state`, `PID.readers`, `PID.buffer-0`, by the job that
//! they belong to.
//!
//! A job makes regular files. What else has such a name is a stranger: it is named, and never
//! followed, opened or removed.

use std::collections::BTreeMap;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The jobs of a directory, by the beginning of the names of their files.
pub(crate) type Jobs = BTreeMap<PathBuf, Parts>;

/// What has the names of one job's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// In the order in which they are removed: `PID.state` last, which the others are found by.
    pub(crate) files: Vec<PathBuf>,
    /// Names that no job's file can have, and what has them.
    pub(crate) strangers: Vec<(PathBuf, &'static str)>,
}

/// Lists a directory, once for all of its jobs.
///
/// # Errors
/// If it can't be listed, or not to its end. A directory that isn't there has no jobs.
pub(crate) fn list(directory: &Path) -> io::Result<Jobs> {
    let mut jobs = Jobs::new();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(jobs),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(job_of) else { continue };
        // Removed since the directory was read.
        let Ok(file_type) = entry.file_type() else { continue };
        let parts = jobs.entry(directory.join(stem)).or_default();
        match foreign_kind(file_type) {
            None => parts.files.push(entry.path()),
            Some(kind) => parts.strangers.push((entry.path(), kind)),
        }
    }
    for parts in jobs.values_mut() {
        parts.files.sort();
        parts.files.sort_by_key(|file| is_state(file));
        parts.strangers.sort();
    }
    Ok(jobs)
}

impl Parts {
    /// Why the state isn't one, if a stranger has its name.
    pub(crate) fn foreign_state(&self) -> Option<String> {
        let state = self.strangers.iter().find(|(path, _)| is_state(path));
        let state = state.or(self.strangers.first().filter(|_| self.files.is_empty()));
        state.map(|(path, kind)| format!("{}: {}", path.display(), complaint(kind)))
    }
}

/// What is wrong with a stranger, and the way out.
pub(crate) fn complaint(kind: &str) -> String {
    format!("it is {kind}, which no job makes; remove it yourself if nobody needs it")
}

/// The file of the job's state.
pub(crate) fn state_of(prefix: &Path) -> PathBuf {
    prefix.with_extension("state")
}

fn is_state(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "state")
}

/// The job that a file belongs to by its name: the number of its process, and more where several
/// have the same.
fn job_of(name: &str) -> Option<&str> {
    let (stem, suffix) = name.split_once('.')?;
    let is_part = ["state", "readers"].contains(&suffix) || suffix.starts_with("buffer-");
    let is_job = stem.starts_with(|first: char| first.is_ascii_digit())
        && stem.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (is_part && is_job).then_some(stem)
}

/// What a file is that no job makes.
fn foreign_kind(file_type: FileType) -> Option<&'static str> {
    Some(match file_type {
        _ if file_type.is_file() => return None,
        _ if file_type.is_symlink() => "a symbolic link",
        _ if file_type.is_dir() => "a directory",
        _ if file_type.is_fifo() => "a pipe",
        _ if file_type.is_socket() => "a socket",
        _ => "a device",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_that_a_job_makes_are_its_own() {
        for (name, job) in [("12.state", "12"), ("12-3.readers", "12-3"), ("7.buffer-007", "7")] {
            assert_eq!(job_of(name), Some(job), "{name}");
        }
        for name in [
            "12",
            ".state",
            "x12.state",
            "-1.state",
            "12.states",
            "12.a.state",
            "12.bak",
            "notes.txt",
        ] {
            assert_eq!(job_of(name), None, "{name}");
        }
    }
}
