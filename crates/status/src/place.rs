//! Where jobs publish: a directory of the user, in memory.
//!
//! ```text
//!  XSORT_STATUS_DIR        if it is set, and no other
//!  $XDG_RUNTIME_DIR/xsort  if that is the user's own
//!  /dev/shm/xsort-UID
//!  $TMPDIR/xsort-UID       or /tmp/xsort-UID
//! ```
//!
//! A job takes the first one that it can have and that has room. Whoever looks for jobs looks in
//! all, for a job may have been started from elsewhere: by a timer, or over the network. A
//! directory that belongs to someone else is never used: the names in /dev/shm and /tmp can be
//! taken by anybody.

use rustix::fs::{CWD, FileType, Mode, mkdirat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directories of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    candidates: Vec<PathBuf>,
}

impl Place {
    /// As the environment says, of which `variable` is asked.
    pub fn of_environment(variable: impl Fn(&str) -> Option<OsString>) -> Place {
        let uid = geteuid().as_raw();
        let named =
            |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(directory) = named("XSORT_STATUS_DIR") {
            return Place { candidates: vec![directory] };
        }
        let own = format!("xsort-{uid}");
        let runtime = named("XDG_RUNTIME_DIR").unwrap_or_else(|| format!("/run/user/{uid}").into());
        let mut candidates = Vec::new();
        // Whoever became another user may still have the first one's variable.
        if fs::metadata(&runtime).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == uid) {
            candidates.push(runtime.join("xsort"));
        }
        candidates.push(Path::new("/dev/shm").join(&own));
        candidates.push(named("TMPDIR").unwrap_or_else(|| "/tmp".into()).join(&own));
        Place { candidates }
    }

    /// These directories.
    #[cfg(test)]
    pub(crate) fn of_candidates(candidates: Vec<PathBuf>) -> Place {
        Place { candidates }
    }

    /// The directories to publish in, the best one first.
    pub(crate) fn candidates(&self) -> &[PathBuf] {
        &self.candidates
    }

    /// The directories that there are, to look for jobs in; and those that are not to be trusted,
    /// or not to be had, and why.
    pub(crate) fn looked_at(&self) -> (Vec<PathBuf>, Vec<String>) {
        let (mut directories, mut troubles) = (Vec::<PathBuf>::new(), Vec::new());
        for directory in &self.candidates {
            match own(directory) {
                _ if directories.contains(directory) => {}
                Ok(()) => directories.push(directory.clone()),
                // No job published there yet.
                Err(_)
                    if fs::symlink_metadata(directory).is_err_and(|error| is_nothing(&error)) => {}
                Err(reason) => troubles.push(format!("{}: {reason}", directory.display())),
            }
        }
        (directories, troubles)
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Makes a directory if need be, for nobody else to look into, unless somebody else may write to
/// it.
pub(crate) fn make(directory: &Path) -> Result<(), String> {
    let said = |reason: String| format!("{}: {reason}", directory.display());
    match mkdirat(CWD, directory, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => own(directory).map_err(said),
        Err(errno) => Err(said(io::Error::from(errno).to_string())),
    }
}

/// Whether it is a directory of this user, that nobody else may write to.
fn own(directory: &Path) -> Result<(), String> {
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
