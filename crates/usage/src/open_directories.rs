//! Open directories, whose number is limited for each process.
//!
//! A directory stays open until all its subdirectories were opened, so that the kernel resolves one
//! name to open each. A deep tree with pending tasks at every level could need more descriptors
//! than the process may have. Then directories close early, and are opened again by their names,
//! starting at the argument, when a task needs them. A directory that is not completely listed
//! stays open, because its descriptor holds the position in the listing.

use crate::directory::Directory;
use crate::system::PATH_ONLY;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum length in bytes of a path given to the kernel at once. Its own limit is 4,096 with the
/// zero byte.
const PATH_BYTES_MAX: usize = 4000;

/// Descriptors left for other uses: standard streams, the published status, a list of arguments.
const RESERVED_FILES: usize = 16;

/// Maximum number of descriptors that a thread needs at a time: its task's directory, the directory
/// that it opens, and one on the way to that.
const FILES_PER_THREAD: usize = 3;

/// Returns the number of threads for which there are descriptors. Half of the descriptors are left
/// for directories that tasks wait for.
pub(crate) fn threads_max() -> usize {
    (files_max().saturating_sub(RESERVED_FILES) / (2 * FILES_PER_THREAD)).max(1)
}

fn files_max() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files).unwrap_or(usize::MAX)
}

/// The number of open directories, and its limit.
#[derive(Debug)]
pub(crate) struct DescriptorCount {
    open: AtomicUsize,
    max: usize,
}

impl DescriptorCount {
    /// Creates a counter. Its limit is the process's limit minus the reserved descriptors and those
    /// that each thread opens in any case.
    pub(crate) fn new(threads_max: usize) -> Arc<DescriptorCount> {
        let max = files_max().saturating_sub(RESERVED_FILES + FILES_PER_THREAD * threads_max);
        Arc::new(DescriptorCount { open: AtomicUsize::new(0), max })
    }

    /// Returns whether directories must close early.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.max
    }
}

/// A directory and its descriptor.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    pub(crate) directory: Arc<Directory>,
    file: OwnedFd,
    count: Arc<DescriptorCount>,
}

impl OpenDirectory {
    pub(crate) fn new(
        directory: Arc<Directory>,
        file: OwnedFd,
        count: &Arc<DescriptorCount>,
    ) -> Arc<OpenDirectory> {
        count.open.fetch_add(1, Ordering::Relaxed);
        Arc::new(OpenDirectory { directory, file, count: Arc::clone(count) })
    }
}

impl AsFd for OpenDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for OpenDirectory {
    fn drop(&mut self) {
        self.count.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Opens an argument.
pub(crate) fn open_argument(path: &CStr, follows: bool) -> Result<OwnedFd, Errno> {
    openat(CWD, path, flags(follows), Mode::empty())
}

/// Opens an entry of an open directory.
pub(crate) fn open_entry(
    directory: impl AsFd,
    name: &CStr,
    follows: bool,
) -> Result<OwnedFd, Errno> {
    openat(directory, name, flags(follows), Mode::empty())
}

/// Returns the flags to open a directory. Opening must neither wait (the name may lead to a pipe
/// now) nor follow a symbolic link that is new.
fn flags(follows: bool) -> OFlags {
    let flags =
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    if follows { flags } else { flags | OFlags::NOFOLLOW }
}

/// Opens a directory that closed early, by its names from the argument's directory.
pub(crate) fn reopen(argument: &OpenDirectory, directory: &Directory) -> Result<OwnedFd, Errno> {
    let mut names: Vec<&[u8]> = directory.ancestors().map(|ancestor| &ancestor.name[..]).collect();
    // The argument itself is open.
    names.pop();
    let mut file: Option<OwnedFd> = None;
    let mut path = Vec::new();
    while let Some(name) = names.pop() {
        path.extend_from_slice(name);
        path.push(b'/');
        if names.is_empty()
            || path.len() + names.last().map_or(0, |name| name.len()) > PATH_BYTES_MAX
        {
            let next = CString::new(std::mem::take(&mut path)).expect("names have no zero bytes");
            let from = file.as_ref().map_or_else(|| argument.as_fd(), AsFd::as_fd);
            file = Some(openat(from, &next, flags(true) | PATH_ONLY, Mode::empty())?);
        }
    }
    match file {
        Some(file) => Ok(file),
        None => openat(argument, c".", flags(false) | PATH_ONLY, Mode::empty()),
    }
}
