//! The job's side: publishes snapshots in its own files, in one of the status directories.
//!
//! If a directory is full, the job moves to the next one. If its files are removed (the end of a
//! login session does that), it creates them again.

use crate::job::FoundJob;
use crate::job_files::state_file;
use crate::leftovers::{Leftovers, leftovers};
use crate::snapshot::Snapshot;
use crate::status_directories::{StatusDirectories, create};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_shm::{Error, Writer, WriterOptions, Xxh3};

/// Maximum number of jobs with the same process ID, in several containers that share the directory.
const NAMESAKES_MAX: u32 = 16;

/// Number of readers that can read without copying at the same time; further readers copy.
const READERS_MAX: usize = 64;

/// Publishes the snapshots of one job. Dropping it leaves the last one in place, as a kill does;
/// [`Publisher::end`] removes it.
pub struct Publisher {
    directories: StatusDirectories,
    pid: u32,
    files: Option<PublishedFiles>,
}

/// The files in which a job publishes.
struct PublishedFiles {
    writer: Writer<Xxh3>,
    prefix: PathBuf,
    /// Device and inode of the state file.
    inode: Option<(u64, u64)>,
    /// Index of their directory among the candidates.
    candidate: usize,
}

impl Publisher {
    /// Starts publishing under a process ID.
    ///
    /// # Errors
    /// A reason in words. The job can continue without publishing.
    pub fn open(directories: &StatusDirectories, pid: u32) -> Result<Publisher, String> {
        let mut publisher = Publisher { directories: directories.clone(), pid, files: None };
        publisher.create_files(0, &mut Vec::new())?;
        Ok(publisher)
    }

    /// Returns the common beginning of the paths of its files.
    pub fn prefix(&self) -> &Path {
        self.files.as_ref().map_or(Path::new(""), |files| &files.prefix)
    }

    /// Publishes a snapshot.
    ///
    /// # Errors
    /// A reason in words, if no directory has space. Then no file is left.
    pub fn publish(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let bytes = snapshot.to_bytes();
        let mut failures = Vec::new();
        if self.files.as_ref().is_none_or(|files| !files.exist()) {
            // All of them were removed together: nothing is left to clean up.
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

    /// Removes the published files, because the job is over.
    pub fn end(mut self) {
        self.remove_files();
    }

    fn remove_files(&mut self) {
        // If they were removed, another job may have the names now.
        if let Some(files) = self.files.take().filter(PublishedFiles::exist) {
            // Files that can't be removed are shown and cleared as a dead job.
            let _ = files.writer.remove();
        }
    }

    /// Creates the files in the first directory, from candidate `first` on, that has room for them.
    /// Adds the reasons why earlier candidates failed to `failures`.
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
    /// Returns whether they still have their names.
    fn exist(&self) -> bool {
        self.inode.is_some() && self.inode == state_inode(&self.prefix)
    }
}

/// Returns device and inode of a job's state file.
fn state_inode(prefix: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(state_file(prefix)).ok().map(|state| (state.dev(), state.ino()))
}

/// Creates all files of a job, or none, under the first free name.
fn create_in(directory: &Path, pid: u32) -> Result<(Writer<Xxh3>, PathBuf), String> {
    let mut options = WriterOptions::default();
    (options.readers_max, options.mode, options.readers_mode) = (READERS_MAX, 0o600, 0o600);
    for namesake in 0..NAMESAKES_MAX {
        let name = if namesake == 0 { pid.to_string() } else { format!("{pid}-{namesake}") };
        let prefix = directory.join(name);
        // A dead job with this process ID may have left other files, which only its status leads
        // to.
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
            // The name is in use: by another job, perhaps of another user or version, or by some
            // other file.
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

    /// If any of its files doesn't fit, the job is in the next directory, and only there.
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
