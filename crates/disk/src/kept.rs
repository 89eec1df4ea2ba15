//! Files that outlive the process: what a job keeps so that a later one can resume it.
//!
//! Whoever opens one has it exclusively until its last transfer has ended: also those of a process
//! that was killed, which go on for a moment. So nothing that a dead job had started can fall on
//! what the next one writes.
//!
//! The lock belongs to the inode, and names move: who waited for a lock may hold that of a file
//! which has been renamed or removed meanwhile. So the name is asked again once the lock is held,
//! and a name is only removed under the lock of the file that it leads to.
//!
//! The names are durable before the first byte is; nobody else may read the files; and a symbolic
//! link in their place is never followed, for scratch directories are often everybody's.

use crate::drive::parent;
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, fsync, openat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Creates a file that may not be there yet.
pub(crate) fn create(path: &Path) -> Result<OwnedFd, Errno> {
    create_in(CWD, path, Mode::from_raw_mode(0o600))
}

/// Opens a file that was kept: a regular one, of this user, with no other name.
pub(crate) fn open_again(path: &Path) -> Result<OwnedFd, Errno> {
    open_in(CWD, path)
}

/// Opens a file that was kept, or creates it; whether it was created.
pub(crate) fn open_or_create(path: &Path) -> Result<(OwnedFd, bool), Errno> {
    match open_again(path) {
        Err(Errno::NOENT) => match create(path) {
            // Somebody was faster.
            Err(Errno::EXIST) => open_again(path).map(|fd| (fd, false)),
            created => created.map(|fd| (fd, true)),
        },
        opened => opened.map(|fd| (fd, false)),
    }
}

fn create_in(directory: BorrowedFd<'_>, path: &Path, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(directory, path, flags, mode)?;
    // Somebody may have opened and locked it before this could.
    lock_named(directory, path, &fd)?;
    sync_directory(directory, &parent(path))?;
    Ok(fd)
}

/// Opens the kept file of that name in a directory.
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

/// Creates the file of that name in a directory with `mode`; one that is there goes, unless another
/// process has it.
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

/// Removes the name of an open file, durably. One that leads elsewhere, or nowhere, stays as it is.
pub(crate) fn remove(
    directory: BorrowedFd<'_>,
    path: &Path,
    file: BorrowedFd<'_>,
) -> Result<(), Errno> {
    if !leads_to(directory, path, file)? {
        return Ok(());
    }
    match unlinkat(directory, path, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => sync_directory(directory, &parent(path)),
        Err(errno) => Err(errno),
    }
}

/// Whether a name, without following links, is that of an open file.
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

/// How long to wait for the last transfers of a process that was killed.
const LOCK_WAIT: Duration = Duration::from_secs(3);

/// Locks an open file and asks whether it still has the name that it was opened by. EAGAIN if not,
/// for then another process was done with it meanwhile; and if another has the lock.
fn lock_named(directory: BorrowedFd<'_>, path: &Path, file: &OwnedFd) -> Result<(), Errno> {
    lock(file)?;
    if leads_to(directory, path, file.as_fd())? { Ok(()) } else { Err(Errno::AGAIN) }
}

/// Keeps all other processes from the file until the last transfer of this one has ended; EAGAIN if
/// another has it. The lock is the open file's, and each transfer holds that.
fn lock(file: &OwnedFd) -> Result<(), Errno> {
    let begun = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::AGAIN) if begun.elapsed() < LOCK_WAIT => {
                thread::sleep(Duration::from_millis(5))
            }
            // Some network file systems have none; then nobody can have it.
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
}

/// Makes a directory's entries durable. One that may be written but not read can't be opened for
/// that, and some file systems have nothing to sync there.
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
        fs::remove_file(&other_name).unwrap();
        let file = open_again(&path).unwrap();
        remove(CWD, &path, file.as_fd()).unwrap();
        remove(CWD, &path, file.as_fd()).unwrap();
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

    /// Who waits for a lock while its holder renames the file, and then gives it up, has the lock
    /// of a file that is another by now: an output that was published. Nothing may be written to
    /// that.
    #[test]
    fn a_lock_counts_only_while_the_name_is_the_files() {
        let place = tempfile::tempdir().unwrap();
        let (path, published) = (place.path().join("kept"), place.path().join("published"));
        for replaced in [false, true] {
            let first = create(&path).unwrap();
            let waiting = thread::spawn({
                let path = path.clone();
                move || (open_again(&path).map(drop), open_or_create(&path).map(drop))
            });
            thread::sleep(Duration::from_millis(50));
            fs::rename(&path, &published).unwrap();
            if replaced {
                fs::write(&path, "another's").unwrap();
            }
            drop(first);
            let (opened, created) = waiting.join().unwrap();
            // Had it come later, it would have found nothing, or the other's file.
            assert!(matches!(opened, Err(Errno::AGAIN | Errno::NOENT)) || replaced, "{opened:?}");
            assert!(created.is_ok());
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_name_goes_only_with_the_file_that_it_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("kept");
        let first = create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let second = create(&path).unwrap();
        remove(CWD, &path, first.as_fd()).unwrap();
        assert!(path.exists());
        let name = OsStr::new("kept");
        let directory = fs::File::open(place.path()).unwrap();
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
