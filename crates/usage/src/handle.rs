//! Open directories, of which there are only so many.
//!
//! A directory stays open until all directories in it were opened, so that the kernel resolves one
//! name to open each. A deep tree with something pending at each level could want more files than
//! the process may have; then directories close early, and are opened again by their names from the
//! argument when their turn comes. Those that are not listed to their end stay open, for their
//! place in the listing.

use crate::directory::Directory;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longest path that is given to the kernel at once, in bytes; its own limit is 4,096 with the zero
/// byte.
const PATH_BYTES_MAX: usize = 4000;

/// Files that are left to others: standard streams, the status that is published, what reading an
/// argument list needs.
const RESERVED_FILES: usize = 16;

/// What a thread has open at a time: the directory of a task, the one that is opened, and one on
/// the way to it.
const FILES_A_THREAD: usize = 3;

/// Threads for which there are files, half of them left for directories that wait.
pub(crate) fn threads_max() -> usize {
    (files_max().saturating_sub(RESERVED_FILES) / (2 * FILES_A_THREAD)).max(1)
}

fn files_max() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files).unwrap_or(usize::MAX)
}

/// How many directories are open, and may be.
#[derive(Debug)]
pub(crate) struct Handles {
    open: AtomicUsize,
    max: usize,
}

impl Handles {
    /// As many as the process may open, less some for other things, and what each thread has open
    /// for a moment whatever is said here.
    pub(crate) fn new(threads_max: usize) -> Arc<Handles> {
        let max = files_max().saturating_sub(RESERVED_FILES + FILES_A_THREAD * threads_max);
        Arc::new(Handles { open: AtomicUsize::new(0), max })
    }

    /// Whether directories must close early.
    pub(crate) fn are_scarce(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.max
    }
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) directory: Arc<Directory>,
    file: OwnedFd,
    handles: Arc<Handles>,
}

impl Opened {
    pub(crate) fn new(
        directory: Arc<Directory>,
        file: OwnedFd,
        handles: &Arc<Handles>,
    ) -> Arc<Opened> {
        handles.open.fetch_add(1, Ordering::Relaxed);
        Arc::new(Opened { directory, file, handles: Arc::clone(handles) })
    }
}

impl AsFd for Opened {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.handles.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How to open a directory. It must not wait (for what a name became in the meantime), and not
/// follow a link that wasn't there.
pub(crate) fn flags(follows: bool) -> OFlags {
    let flags =
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    if follows { flags } else { flags | OFlags::NOFOLLOW }
}

/// Opens a closed directory again, by its names from the argument's directory, `top`.
pub(crate) fn reopen(top: &Opened, directory: &Directory) -> Result<OwnedFd, Errno> {
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
            let from = file.as_ref().map_or_else(|| top.as_fd(), AsFd::as_fd);
            file = Some(openat(from, &next, flags(true) | OFlags::PATH, Mode::empty())?);
        }
    }
    match file {
        Some(file) => Ok(file),
        None => openat(top, c".", flags(false) | OFlags::PATH, Mode::empty()),
    }
}

/// Opens an argument.
pub(crate) fn open_argument(path: &std::ffi::CStr, follows: bool) -> Result<OwnedFd, Errno> {
    openat(CWD, path, flags(follows), Mode::empty())
}
