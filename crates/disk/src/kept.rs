//! Files that outlive the process: what a job keeps so that a later one can go on with it.
//!
//! Whoever opens one has it for itself until its last transfer has ended: also those of a process that was killed, which go on for a moment. So
//! nothing that a dead job had started can fall on what the next one writes.
//!
//! They have a name, which is durable before the first byte is; nobody else may read them; and a symbolic link in their place is never followed,
//! for scratch directories are often everybody's.

use crate::drive::parent;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, fsync, openat, unlink};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Creates a file that may not be there yet.
pub(crate) fn create(path: &Path) -> Result<OwnedFd, Errno> {
    create_in(CWD, path, Mode::from_raw_mode(0o600))
}

fn create_in(directory: BorrowedFd<'_>, path: &Path, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(directory, path, flags, mode)?;
    sync_directory(directory, &parent(path))?;
    lock(fd)
}

/// Opens a file that was kept: a regular one, of this user, with no other name.
pub(crate) fn open_again(path: &Path) -> Result<OwnedFd, Errno> {
    open_in(CWD, path)
}

fn open_in(directory: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = openat(directory, path, flags, Mode::empty())?;
    let stat = fstat(&fd)?;
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_regular || stat.st_nlink != 1 || stat.st_uid != geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    lock(fd)
}

/// Opens the file of that name in a directory, or creates it with `mode`.
pub(crate) fn create_or_open(directory: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> Result<OwnedFd, Errno> {
    match open_in(directory, Path::new(name)) {
        Err(Errno::NOENT) => create_in(directory, Path::new(name), mode),
        result => result,
    }
}

/// How long to wait for the last transfers of a process that was killed.
const LOCK_WAIT: Duration = Duration::from_secs(3);

/// Keeps all other processes from the file until the last transfer of this one has ended; EAGAIN if another has it. The lock is the open file's, and
/// each transfer holds that.
fn lock(file: OwnedFd) -> Result<OwnedFd, Errno> {
    let begun = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::AGAIN) if begun.elapsed() < LOCK_WAIT => thread::sleep(Duration::from_millis(5)),
            // Some network file systems have none; then nobody can have it.
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(file),
            Err(errno) => return Err(errno),
        }
    }
}

/// Removes a name, durably. One that isn't there is as good.
pub(crate) fn remove(path: &Path) -> Result<(), Errno> {
    match unlink(path) {
        Ok(()) => sync_directory(CWD, &parent(path)),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes a directory's entries durable. One that may be written but not read can't be opened for that, and some file systems have nothing to sync
/// there.
pub(crate) fn sync_directory(from: BorrowedFd<'_>, directory: &Path) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(from, directory, flags, Mode::empty()).and_then(fsync) {
        Err(Errno::INVAL | Errno::ACCESS | Errno::OPNOTSUPP | Errno::ROFS) => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_kept_file_is_ones_own_and_never_a_link() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("kept");
        let file = create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(create(&path).unwrap_err(), Errno::EXIST);
        drop(file);
        let file = open_again(&path).unwrap();
        let link = place.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(open_again(&link).unwrap_err(), Errno::LOOP);
        assert_eq!(create(&link).unwrap_err(), Errno::EXIST);
        let other_name = place.path().join("other");
        drop(file);
        fs::hard_link(&path, &other_name).unwrap();
        assert_eq!(open_again(&path).unwrap_err(), Errno::PERM);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn one_at_a_time_has_the_lock() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("kept");
        let first = create(&path).unwrap();
        assert_eq!(open_again(&path).unwrap_err(), Errno::AGAIN);
        drop(first);
        assert!(open_again(&path).is_ok());
    }
}
