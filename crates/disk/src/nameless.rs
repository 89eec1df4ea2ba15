//! Files without a name (O_TMPFILE): outputs before they are published, and scratch files.
//!
//! However the process ends, the kernel frees such a file.

use crate::hidden_name::create_hidden;
use crate::system::{PATH_ONLY, open_nameless};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, open, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Creates a file without a name. `None` if the file system can't do that, or if the file couldn't
/// be given a name later.
pub(crate) fn create_linkable(
    directory: BorrowedFd<'_>,
    mode: Mode,
) -> Result<Option<OwnedFd>, Errno> {
    match open_nameless(directory, OFlags::empty(), mode) {
        // linkat goes through /proc. If /proc isn't mounted, find out now, not after the sort.
        Ok(fd) => Ok(accessat(CWD, proc_path(fd.as_fd()), Access::EXISTS, AtFlags::empty())
            .is_ok()
            .then_some(fd)),
        Err(errno) if is_unsupported(errno) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Creates a scratch file without a name: with O_TMPFILE if possible, otherwise unlinked at once.
pub(crate) fn create_scratch(directory: &Path) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(0o600);
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(directory, flags, Mode::empty())?;
    // O_EXCL: the file can't be given a name later.
    match open_nameless(directory.as_fd(), OFlags::EXCL, mode) {
        Err(errno) if is_unsupported(errno) => {
            let (fd, hidden) = create_hidden(directory.as_fd(), OsStr::new("scratch"), mode)?;
            unlinkat(&directory, hidden, AtFlags::empty())?;
            Ok(fd)
        }
        result => result,
    }
}

/// Returns whether the error means that the kernel or the file system has no O_TMPFILE. Kernels
/// that don't know the flag answer EISDIR or ENOENT.
fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS)
}

/// Returns a path that leads to an open file, for linkat.
pub(crate) fn proc_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
