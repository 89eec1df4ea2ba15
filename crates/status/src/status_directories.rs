//! The directories in which jobs publish: directories of the user, in memory.
//!
//! ```text
//!  XSORT_STATUS_DIR        if it is set, and no other
//!  $XDG_RUNTIME_DIR/xsort  if that directory is the user's own
//!  /dev/shm/xsort-UID
//!  $TMPDIR/xsort-UID       or /tmp/xsort-UID
//! ```
//!
//! A job takes the first directory that it can use and that has space. Watchers read all of them,
//! because a job may have been started in another environment: by a timer, or over the network. A
//! directory that belongs to another user is never used, because any user can take the names in
//! /dev/shm and /tmp.

use rustix::fs::{CWD, FileType, Mode, mkdirat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directories of one user, the best one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusDirectories {
    candidates: Vec<PathBuf>,
}

impl StatusDirectories {
    /// Returns the directories that the environment's variables select.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> StatusDirectories {
        let uid = geteuid().as_raw();
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(directory) = path("XSORT_STATUS_DIR") {
            return StatusDirectories { candidates: vec![directory] };
        }
        let own = format!("xsort-{uid}");
        let runtime = path("XDG_RUNTIME_DIR").unwrap_or_else(|| format!("/run/user/{uid}").into());
        let mut candidates = Vec::new();
        // After `su` the variable may still be the other user's.
        if fs::metadata(&runtime).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == uid) {
            candidates.push(runtime.join("xsort"));
        }
        candidates.push(Path::new("/dev/shm").join(&own));
        candidates.push(path("TMPDIR").unwrap_or_else(|| "/tmp".into()).join(&own));
        StatusDirectories { candidates }
    }

    #[cfg(test)]
    pub(crate) fn of(candidates: Vec<PathBuf>) -> StatusDirectories {
        StatusDirectories { candidates }
    }

    /// Returns the directories to publish in.
    pub(crate) fn candidates(&self) -> &[PathBuf] {
        &self.candidates
    }

    /// Returns the existing directories in which to find jobs, and messages about those that can't
    /// be trusted or read.
    pub(crate) fn readable(&self) -> (Vec<PathBuf>, Vec<String>) {
        let (mut directories, mut troubles) = (Vec::<PathBuf>::new(), Vec::new());
        for directory in &self.candidates {
            match check_owner(directory) {
                _ if directories.contains(directory) => {}
                Ok(()) => directories.push(directory.clone()),
                // No job has published there yet.
                Err(_)
                    if fs::symlink_metadata(directory).is_err_and(|error| is_missing(&error)) => {}
                Err(reason) => troubles.push(format!("{}: {reason}", directory.display())),
            }
        }
        (directories, troubles)
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Creates a directory that only its owner can read, unless it exists.
///
/// # Errors
/// If it can't be created, or if another user may write to the existing one.
pub(crate) fn create(directory: &Path) -> Result<(), String> {
    let named = |reason: String| format!("{}: {reason}", directory.display());
    match mkdirat(CWD, directory, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => check_owner(directory).map_err(named),
        Err(errno) => Err(named(io::Error::from(errno).to_string())),
    }
}

/// Checks that it is a directory of this user, and that no other user may write to it.
fn check_owner(directory: &Path) -> Result<(), String> {
    let stat = rustix::fs::lstat(directory).map_err(|errno| io::Error::from(errno).to_string())?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if !is_directory {
        return Err("it is no directory".into());
    }
    if stat.st_uid != geteuid().as_raw() {
        return Err("it belongs to someone else".into());
    }
    if stat.st_mode & 0o022 != 0 {
        return Err("others may write to it".into());
    }
    Ok(())
}
