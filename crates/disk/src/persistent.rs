//! Persistent files: they outlive the process, so that a later process can resume its job.
//!
//! A file is opened exclusively (flock). The lock lasts until the last transfer has ended. A killed
//! process's I/O continues for a moment, and so does its lock: its transfers can't overwrite what
//! the next process writes.
//!
//! The lock belongs to the inode, and names move: a process that waited for a lock may get the lock
//! of a file that was renamed or removed during the wait. So it checks the name again once it holds
//! the lock, and removes a name only under the lock of the file that the name leads to.
//!
//! A file's name is durable before its first byte is. Other users may not read the file. A symbolic
//! link under its name is never followed, because scratch directories are often writable by all
//! users.

use crate::drive::parent_directory;
use crate::system::fsync;
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Creates a file. `path` must not exist.
pub(crate) fn create(path: &Path) -> Result<OwnedFd, Errno> {
    create_in(CWD, path, Mode::from_raw_mode(0o600))
}

/// Opens a persistent file. It must be a regular file of this user with no other name.
pub(crate) fn open_existing(path: &Path) -> Result<OwnedFd, Errno> {
    open_in(CWD, path)
}

/// Opens a persistent file, or creates it. Returns `true` if it was created.
pub(crate) fn open_or_create(path: &Path) -> Result<(OwnedFd, bool), Errno> {
    match open_existing(path) {
        Err(Errno::NOENT) => match create(path) {
            // Another process was faster.
            Err(Errno::EXIST) => open_existing(path).map(|fd| (fd, false)),
            created => created.map(|fd| (fd, true)),
        },
        opened => opened.map(|fd| (fd, false)),
    }
}

fn create_in(directory: BorrowedFd<'_>, path: &Path, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(directory, path, flags, mode)?;
    // Another process may have opened and locked it first.
    lock_named(directory, path, &fd)?;
    sync_directory(directory, &parent_directory(path))?;
    Ok(fd)
}

/// Opens a directory's persistent file with the given name.
pub(crate) fn open_in(directory: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = openat(directory, path, flags, Mode::empty())?;
    let stat = fstat(&fd)?;
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_regular || stat.st_nlink > 1 || stat.st_uid != geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    lock_named(directory, path, &fd)?;
    Ok(fd)
}

/// Creates a file with `mode` in a directory, replacing a file of the same name. Fails if another
/// process has the old file open.
pub(crate) fn replace_in(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    match open_in(directory, Path::new(name)) {
        Ok(old) => {
            unlinkat(directory, name, AtFlags::empty())?;
            drop(old);
        }
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno),
    }
    match create_in(directory, Path::new(name), mode) {
        Err(Errno::EXIST) => Err(Errno::AGAIN),
        created => created,
    }
}

/// Durably removes the name of an open file. Does nothing if the name leads to another file.
pub(crate) fn remove(
    directory: BorrowedFd<'_>,
    path: &Path,
    file: BorrowedFd<'_>,
) -> Result<(), Errno> {
    if !leads_to(directory, path, file)? {
        return Ok(());
    }
    match unlinkat(directory, path, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => sync_directory(directory, &parent_directory(path)),
        Err(errno) => Err(errno),
    }
}

/// Returns whether a name leads to an open file. Symbolic links are not followed.
pub(crate) fn leads_to(
    directory: BorrowedFd<'_>,
    path: &Path,
    file: BorrowedFd<'_>,
) -> Result<bool, Errno> {
    let opened = fstat(file)?;
    match statat(directory, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Maximum time to wait for the last transfers of a killed process.
const LOCK_WAIT: Duration = Duration::from_secs(3);

/// Locks an open file and checks that it still has the name under which it was opened. EAGAIN if
/// another process has the lock, or had it and renamed or removed the file.
fn lock_named(directory: BorrowedFd<'_>, path: &Path, file: &OwnedFd) -> Result<(), Errno> {
    lock(file)?;
    if leads_to(directory, path, file.as_fd())? { Ok(()) } else { Err(Errno::AGAIN) }
}

/// Locks the file against all other processes until this process's last transfer has ended. EAGAIN
/// if another process has the lock. The lock belongs to the open file description, which each
/// transfer keeps open.
fn lock(file: &OwnedFd) -> Result<(), Errno> {
    let begun = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::AGAIN) if begun.elapsed() < LOCK_WAIT => {
                thread::sleep(Duration::from_millis(5));
            }
            // Some network file systems have no locks. Then no other process can have one either.
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
}

/// Makes a directory's entries durable if possible. A directory that may be written but not read
/// can't be opened for that, and some file systems can't sync directories.
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
    fn a_persistent_file_is_ones_own_and_never_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(create(&path).unwrap_err(), Errno::EXIST);
        drop(file);
        let file = open_existing(&path).unwrap();
        let link = directory.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(open_existing(&link).unwrap_err(), Errno::LOOP);
        assert_eq!(create(&link).unwrap_err(), Errno::EXIST);
        let other_name = directory.path().join("other");
        drop(file);
        fs::hard_link(&path, &other_name).unwrap();
        assert_eq!(open_existing(&path).unwrap_err(), Errno::PERM);
        fs::remove_file(&other_name).unwrap();
        let file = open_existing(&path).unwrap();
        remove(CWD, &path, file.as_fd()).unwrap();
        remove(CWD, &path, file.as_fd()).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn one_at_a_time_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let first = create(&path).unwrap();
        assert_eq!(open_existing(&path).unwrap_err(), Errno::AGAIN);
        drop(first);
        assert!(open_existing(&path).is_ok());
    }

    /// A process waits for a lock while its holder renames the file, an output that it publishes.
    /// The waiting process then gets the published output's lock, and must not write to it.
    #[test]
    fn a_lock_counts_only_while_the_name_is_the_files() {
        let directory = tempfile::tempdir().unwrap();
        let (path, published) = (directory.path().join("file"), directory.path().join("published"));
        for replaced in [false, true] {
            let first = create(&path).unwrap();
            let waiting = thread::spawn({
                let path = path.clone();
                move || (open_existing(&path).map(drop), open_or_create(&path).map(drop))
            });
            thread::sleep(Duration::from_millis(50));
            fs::rename(&path, &published).unwrap();
            if replaced {
                fs::write(&path, "another's").unwrap();
            }
            drop(first);
            let (opened, created) = waiting.join().unwrap();
            // A later attempt would have found no file, or the other process's file.
            assert!(matches!(opened, Err(Errno::AGAIN | Errno::NOENT)) || replaced, "{opened:?}");
            assert!(created.is_ok());
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_name_goes_only_with_the_file_that_it_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let first = create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let second = create(&path).unwrap();
        remove(CWD, &path, first.as_fd()).unwrap();
        assert!(path.exists());
        let name = OsStr::new("file");
        let directory = fs::File::open(directory.path()).unwrap();
        let replace = || replace_in(directory.as_fd(), name, Mode::from_raw_mode(0o600));
        assert_eq!(replace().unwrap_err(), Errno::AGAIN);
        drop(second);
        fs::write(&path, "old").unwrap();
        let third = replace().unwrap();
        assert_eq!(fstat(&third).unwrap().st_size, 0);
        remove(CWD, &path, third.as_fd()).unwrap();
        assert!(!path.exists());
    }
}
