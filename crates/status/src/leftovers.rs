//! Files that a killed job left, and how they are removed: its shared memory, and hidden files with
//! its data if the file system doesn't support nameless files.

use crate::hidden_files::{is_locked, is_written_by, list_hidden_files, open_files_of_user};
use crate::job::{FoundJob, Life};
use crate::job_files::{self, FilesByJob, JobFiles, foreign_message, state_file};
use crate::snapshot::{Snapshot, Upload};
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_shm::WriterLock;

/// Files and uploads that a dead job left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// The files of its status.
    pub status: Vec<PathBuf>,
    /// Hidden files with its data, and their sizes in bytes.
    pub hidden: Vec<(PathBuf, u64)>,
    /// Uploads in stores that were not aborted. Clearing leaves them to the caller, who must abort
    /// them first, because the status leads to them.
    pub uploads: Vec<Upload>,
}

/// The result of clearing a job.
#[derive(Debug, Default)]
pub struct Cleared {
    /// Files that were removed.
    pub removed: Leftovers,
    /// Files that couldn't be removed, and why.
    pub failures: Vec<(PathBuf, io::Error)>,
}

/// Returns what a job left; nothing if it lives. For many jobs use an [`Inventory`].
pub fn leftovers(job: &FoundJob) -> Leftovers {
    Inventory::default().leftovers(job)
}

/// Removes the files that a dead job left. For many jobs use an [`Inventory`].
pub fn clear(job: &FoundJob) -> Cleared {
    Inventory::default().clear(job)
}

/// The contents of dead jobs' directories. Each directory is listed once, when it is first needed,
/// however many jobs share it. So create an inventory after the jobs were found dead.
#[derive(Default)]
pub struct Inventory {
    status: HashMap<PathBuf, FilesByJob>,
    /// Files with hidden names, by process ID.
    hidden: HashMap<PathBuf, HashMap<u32, Vec<PathBuf>>>,
    /// Device and inode of all files that this user's processes have open.
    open: Option<HashSet<(u64, u64)>>,
}

impl Inventory {
    /// Returns what a job left; nothing if it lives.
    pub fn leftovers(&mut self, job: &FoundJob) -> Leftovers {
        if job.life() != Life::Dead {
            return Leftovers::default();
        }
        let status = self.job_files(job).map(|files| files.files.clone()).unwrap_or_default();
        let hidden = job.snapshot().map(|snapshot| self.hidden_files(snapshot));
        let uploads = job.snapshot().into_iter().flat_map(|snapshot| &snapshot.uploads);
        Leftovers {
            status,
            hidden: hidden.unwrap_or_default(),
            uploads: uploads.filter(|upload| !upload.is_resumable).cloned().collect(),
        }
    }

    /// Removes the files that a dead job left. Does nothing if the job lives, or if a living job
    /// has taken over its name.
    pub fn clear(&mut self, job: &FoundJob) -> Cleared {
        let mut cleared = Cleared::default();
        for (path, bytes) in self.leftovers(job).hidden {
            if cleared.remove(&path) {
                cleared.removed.hidden.push((path, bytes));
            }
        }
        // The status last, and only if all hidden files are gone, because it leads to them.
        if !cleared.failures.is_empty() {
            return cleared;
        }
        let Some(files) = self.job_files(job) else { return cleared };
        if !files.files.is_empty() && files.foreign_state().is_none() {
            cleared.remove_status(job.prefix(), files.files);
        }
        let message = |(path, kind)| (path, io::Error::other(foreign_message(kind)));
        cleared.failures.extend(files.foreign.into_iter().map(message));
        cleared
    }

    fn job_files(&mut self, job: &FoundJob) -> Option<JobFiles> {
        let directory = job.prefix().parent()?;
        // The search reports a directory that can't be listed.
        let list = || job_files::list(directory).unwrap_or_default();
        let jobs = self.status.entry(directory.to_owned()).or_insert_with(list);
        jobs.get(job.prefix()).cloned()
    }

    fn hidden_files(&mut self, snapshot: &Snapshot) -> Vec<(PathBuf, u64)> {
        let mut files: Vec<(PathBuf, Metadata)> = Vec::new();
        for directory in &snapshot.places {
            let by_process = self
                .hidden
                .entry(directory.into())
                .or_insert_with_key(|directory| list_hidden_files(directory));
            let paths = by_process.get(&snapshot.job.pid).into_iter().flatten();
            files.extend(
                paths.filter_map(|path| Some((path.clone(), fs::symlink_metadata(path).ok()?))),
            );
        }
        files.retain(|(_, metadata)| metadata.is_file() && is_written_by(snapshot, metadata));
        if !files.is_empty() {
            let open = self.open.get_or_insert_with(open_files_of_user);
            files.retain(|(path, metadata)| {
                !open.contains(&(metadata.dev(), metadata.ino())) && !is_locked(path)
            });
        }
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files.dedup_by(|a, b| a.0 == b.0);
        files.into_iter().map(|(path, metadata)| (path, metadata.len())).collect()
    }
}

impl Cleared {
    /// Removes a file. Returns false if that failed, or if the file was already gone.
    fn remove(&mut self, path: &Path) -> bool {
        match fs::remove_file(path) {
            Ok(()) => return true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.failures.push((path.to_owned(), error)),
        }
        false
    }

    /// Removes the files of a dead job's status, unless a living job has its name now.
    fn remove_status(&mut self, prefix: &Path, files: Vec<PathBuf>) {
        let _lock = match WriterLock::acquire(prefix) {
            Ok(vacancy) => vacancy,
            Err(xsort_shm::Error::Busy { .. }) => return,
            Err(error) => return self.failures.push(named_failure(prefix, error)),
        };
        let state = state_file(prefix);
        for path in files {
            if path != state && self.remove(&path) {
                self.removed.status.push(path);
            }
        }
        // The state last. `WriterLock::acquire` created it if there was none.
        if self.failures.is_empty() && self.remove(&state) {
            self.removed.status.push(state);
        }
    }
}

/// Returns why the name of a dead job can't be taken.
fn named_failure(prefix: &Path, error: xsort_shm::Error) -> (PathBuf, io::Error) {
    match error {
        xsort_shm::Error::Io { operation, path, source } => {
            (path, io::Error::new(source.kind(), format!("{operation} it: {source}")))
        }
        error => (prefix.to_owned(), io::Error::other(error)),
    }
}
