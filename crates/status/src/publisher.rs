//! The job's side: snapshots into files of its own, in one of the status directories.
//!
//! If a directory is full, the job moves on to the next one. If somebody removes its files (the end
//! of a login session does), it makes them anew.

use crate::job::FoundJob;
use crate::job_files::state_file;
use crate::leftovers::{Leftovers, leftovers};
use crate::snapshot::Snapshot;
use crate::status_directories::{StatusDirectories, create};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_shm::{Error, Writer, WriterOptions, Xxh3};

/// Jobs that may have the same process ID, in several containers that share the directory.
const NAMESAKES_MAX: u32 = 16;

/// Readers that can read without copying at the same time; further ones copy.
const READERS_MAX: usize = 64;

/// Publishes the snapshots of one job. Dropping it leaves the last one behind, as a kill does;
/// [`Publisher::end`] removes it.
pub struct Publisher {
    directories: StatusDirectories,
    pid: u32,
    files: Option<PublishedFiles>,
}

/// The files that a job publishes in.
struct PublishedFiles {
    writer: Writer<Xxh3>,
    prefix: PathBuf,
    /// Device and inode of the state.
    inode: Option<(u64, u64)>,
    /// Which of the directories they are in.
    candidate: usize,
}

impl Publisher {
    /// Begins to publish under a process ID.
    ///
    /// # Errors
    /// A reason in words. The job can go on without.
    pub fn open(directories: &StatusDirectories, pid: u32) -> Result<Publisher, String> {
        let mut publisher = Publisher { directories: directories.clone(), pid, files: None };
        publisher.create_files(0, &mut Vec::new())?;
        Ok(publisher)
    }

    /// The common beginning of the paths of its files.
    pub fn prefix(&self) -> &Path {
        self.files.as_ref().map_or(Path::new(""), |files| &files.prefix)
    }

    /// Publishes a snapshot.
    ///
    /// # Errors
    /// A reason in words: no directory has space for it. Then no file is left.
    pub fn publish(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let bytes = snapshot.to_bytes();
        let mut failures = Vec::new();
        if self.files.as_ref().is_none_or(|files| !files.exist()) {
            // Whoever removed them removed all of them: nothing is left to clean up.
            self.files = None;
            self.create_files(0, &mut failures)?;
        }
        loop {
            let files = self.files.as_mut().expect("created, or the error was returned");
            let Err(error) = files.writer.write(&bytes) else { return Ok(()) };
            failures.push(error.to_string());
            let next = files.candidate + 1;
            self.remove_files();
            self.create_files(next, &mut failures)?;
        }
    }

    /// Removes what was published: the job is over.
    pub fn end(mut self) {
        self.remove_files();
    }

    fn remove_files(&mut self) {
        // If somebody removed them, the names may be another job's by now.
        if let Some(files) = self.files.take().filter(PublishedFiles::exist) {
            // What can't be removed is shown as a dead job, and cleared as one.
            let _ = files.writer.remove();
        }
    }

    /// Creates the files in the first directory, from candidate `first` on, that can hold them.
    /// Adds to `failures` why the ones before can't.
    fn create_files(&mut self, first: usize, failures: &mut Vec<String>) -> Result<(), String> {
        let candidates = self.directories.candidates();
        for (candidate, directory) in candidates.iter().enumerate().skip(first) {
            match create(directory).and_then(|()| create_in(directory, self.pid)) {
                Ok((writer, prefix)) => {
                    let inode = state_inode(&prefix);
                    self.files = Some(PublishedFiles { writer, prefix, inode, candidate });
                    return Ok(());
                }
                Err(reason) => failures.push(reason),
            }
        }
        Err(failures.join("; "))
    }
}

impl PublishedFiles {
    /// Whether they still have their names.
    fn exist(&self) -> bool {
        self.inode.is_some() && self.inode == state_inode(&self.prefix)
    }
}

/// Device and inode of a job's state.
fn state_inode(prefix: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(state_file(prefix)).ok().map(|state| (state.dev(), state.ino()))
}

/// Creates all files of a job, or none, under the first name that is free.
fn create_in(directory: &Path, pid: u32) -> Result<(Writer<Xxh3>, PathBuf), String> {
    let mut options = WriterOptions::default();
    (options.readers_max, options.mode, options.readers_mode) = (READERS_MAX, 0o600, 0o600);
    for namesake in 0..NAMESAKES_MAX {
        let name = if namesake == 0 { pid.to_string() } else { format!("{pid}-{namesake}") };
        let prefix = directory.join(name);
        // What else a dead job with this process ID left is found by its status only.
        let is_needed = state_inode(&prefix).is_some()
            && FoundJob::at(&prefix).is_some_and(|job| {
                let Leftovers { hidden, uploads, .. } = leftovers(&job);
                !hidden.is_empty() || !uploads.is_empty()
            });
        if is_needed {
            continue;
        }
        match Writer::with_options(&prefix, options.clone()) {
            Ok(writer) => return Ok((writer, prefix)),
            Err(error @ Error::Io { .. }) => {
                // Some of the files may have been created before the space ran out.
                let _ = xsort_shm::remove(&prefix);
                return Err(error.to_string());
            }
            // The name is in use: by another job, perhaps of another user or version, or by
            // something else.
            Err(_) => {}
        }
    }
    Err(format!(
        "{}: all names for process {pid} are taken; \
         xsort status --clear removes what killed jobs left",
        directory.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::find;
    use crate::snapshot::FORMAT;
    use std::path::Path;
    use std::process::Command;

    fn mount(words: &[&str], directory: &Path) -> bool {
        Command::new("mount")
            .args(words)
            .arg(directory)
            .output()
            .is_ok_and(|ran| ran.status.success())
    }

    /// If any of its files doesn't fit, the job is in the next directory, and in that one only.
    #[test]
    fn a_job_goes_to_the_next_directory_where_one_is_full() {
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let directories = StatusDirectories::of(vec![
            first.path().into(),
            "/proc/no".into(),
            second.path().into(),
        ]);
        let snapshot = Snapshot { format: FORMAT, ..Snapshot::default() };
        let names = |directory: &Path| fs::read_dir(directory).unwrap().count();
        for (size, is_enough) in [(4, false), (12, false), (16, false), (20, false), (1024, true)] {
            if !mount(
                &["-t", "tmpfs", "-o", &format!("mode=700,size={size}k"), "none"],
                first.path(),
            ) {
                eprintln!("SKIPPED: nothing can be mounted here");
                return;
            }
            let mut publisher = Publisher::open(&directories, 7).unwrap();
            let published = (0..2).all(|_| publisher.publish(&snapshot).is_ok());
            let found = find(&directories).len();
            let (left, taken) = (names(first.path()), names(second.path()));
            publisher.end();
            let after = names(first.path()) + names(second.path());
            assert!(Command::new("umount").arg(first.path()).status().unwrap().success());
            assert!(published, "{size}");
            assert_eq!(
                (found, left > 0, taken > 0, after),
                (1, is_enough, !is_enough, 0),
                "{size}"
            );
        }
    }
}
