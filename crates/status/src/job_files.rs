//! The files of jobs in a directory: `PID.state`, `PID.readers`, `PID.buffer-0`, grouped by job.
//!
//! A job creates only regular files. Any other kind of file with such a name is foreign: it is
//! reported, and never followed, opened or removed.

use std::collections::BTreeMap;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The jobs of a directory, by the common beginning of the paths of their files.
pub(crate) type FilesByJob = BTreeMap<PathBuf, JobFiles>;

/// The files with the names of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobFiles {
    /// In the order in which they are removed: `PID.state` last, because it leads to the others.
    pub(crate) files: Vec<PathBuf>,
    /// Paths that aren't regular files, and their kind.
    pub(crate) foreign: Vec<(PathBuf, &'static str)>,
}

/// Lists a directory once for all of its jobs. A directory that doesn't exist has no jobs.
///
/// # Errors
/// If the directory can't be listed completely.
pub(crate) fn list(directory: &Path) -> io::Result<FilesByJob> {
    let mut jobs = FilesByJob::new();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(jobs),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(job) = name.to_str().and_then(job_of) else { continue };
        // It was removed since the directory was read.
        let Ok(file_type) = entry.file_type() else { continue };
        let files = jobs.entry(directory.join(job)).or_default();
        match foreign_kind(file_type) {
            None => files.files.push(entry.path()),
            Some(kind) => files.foreign.push((entry.path(), kind)),
        }
    }
    for files in jobs.values_mut() {
        files.files.sort();
        files.files.sort_by_key(|file| is_state(file));
        files.foreign.sort();
    }
    Ok(jobs)
}

impl JobFiles {
    /// Returns why there is no state to read, if a foreign file has its name.
    pub(crate) fn foreign_state(&self) -> Option<String> {
        let state = self.foreign.iter().find(|(path, _)| is_state(path));
        let state = state.or(self.foreign.first().filter(|_| self.files.is_empty()));
        state.map(|(path, kind)| format!("{}: {}", path.display(), foreign_message(kind)))
    }
}

/// Returns the message about a foreign file, with the remedy.
pub(crate) fn foreign_message(kind: &str) -> String {
    format!("it is {kind}, which no job makes; remove it yourself if nobody needs it")
}

/// Returns the path of a job's state file.
pub(crate) fn state_file(prefix: &Path) -> PathBuf {
    prefix.with_extension("state")
}

fn is_state(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "state")
}

/// Returns the name of the job to which a file's name belongs: a process ID, with a suffix if
/// several jobs have the same ID.
fn job_of(name: &str) -> Option<&str> {
    let (job, suffix) = name.split_once('.')?;
    let is_file_of_job = ["state", "readers"].contains(&suffix) || suffix.starts_with("buffer-");
    let is_job = job.starts_with(|first: char| first.is_ascii_digit())
        && job.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (is_file_of_job && is_job).then_some(job)
}

/// Returns the kind of a file, if no job creates such files.
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
