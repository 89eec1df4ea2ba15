//! An open file of the operating system.
//!
//! A file is direct (O_DIRECT) if its file system supports that at our alignment, otherwise
//! buffered. It changes from direct to buffered later if the file system refuses a transfer.
//!
//! Each transfer holds an `Arc` of its file, so closing the file during a transfer is harmless.

use crate::drive::kind_of;
use crate::notices::Notices;
use crate::output::PendingOutput;
use crate::snapshot::Snapshot;
use crate::system::{self, FUSE};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An open file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    fd: OwnedFd,
    path: PathBuf,
    /// Accessed relaxed: a stale `true` only costs one more refused transfer, which corrects it.
    is_direct: AtomicBool,
    notices: Arc<Notices>,
    /// True if the file is in memory and has no name. No drive stores it.
    pub(crate) is_memory: bool,
    /// True for standard output: writes are carried out in their order.
    pub(crate) is_stream: bool,
    /// True if the file is in a FUSE file system.
    pub(crate) is_fuse: bool,
    /// True if the file goes through the page cache on purpose.
    pub(crate) is_cached: bool,
    /// For an output: where to publish it. If it is dropped earlier, it removes its hidden name.
    pub(crate) pending: Option<PendingOutput>,
    /// For an input: its state when it was opened.
    pub(crate) snapshot: Option<Snapshot>,
}

impl OpenFile {
    /// Wraps a descriptor and leaves it buffered.
    pub(crate) fn buffered(fd: OwnedFd, path: &Path, notices: &Arc<Notices>) -> OpenFile {
        OpenFile {
            fd,
            path: path.to_owned(),
            is_direct: AtomicBool::new(false),
            notices: Arc::clone(notices),
            is_memory: false,
            is_stream: false,
            is_fuse: false,
            is_cached: false,
            pending: None,
            snapshot: None,
        }
    }

    /// Wraps the descriptor of a file that goes through the page cache on purpose.
    pub(crate) fn cached(fd: OwnedFd, path: &Path, notices: &Arc<Notices>) -> OpenFile {
        let is_fuse = kind_of(&fd).is_ok_and(|(kind, _)| kind == FUSE);
        OpenFile { is_fuse, is_cached: true, ..OpenFile::buffered(fd, path, notices) }
    }

    /// Wraps a descriptor and makes it direct if its file system allows that; if not, adds a
    /// notice.
    pub(crate) fn new(fd: OwnedFd, path: &Path, notices: &Arc<Notices>) -> OpenFile {
        let file = OpenFile { is_cached: false, ..OpenFile::cached(fd, path, notices) };
        match make_direct(&file.fd) {
            Ok(()) => file.is_direct.store(true, Ordering::Relaxed),
            Err(refusal) => file.notice(refusal),
        }
        file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
    }

    /// Adds a message for the user.
    pub(crate) fn notice(&self, message: String) {
        self.notices.add(message);
    }

    /// Turns direct I/O off after the file system refused a transfer with EINVAL.
    pub(crate) fn make_buffered(&self) {
        if self.is_direct.swap(false, Ordering::Relaxed) {
            let kind =
                kind_of(&self.fd).map_or_else(|_| "its file system".to_owned(), |(kind, _)| kind);
            self.notice(format!(
                "{kind} refused a direct transfer: its files go through the page cache"
            ));
        }
        // If this fails, the next transfer is refused again, and that error is final.
        system::make_buffered(&self.fd);
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Makes an open file direct, or returns a message for the user with the reason why not.
fn make_direct(fd: &OwnedFd) -> Result<(), String> {
    let (kind, is_memory) = kind_of(fd).unwrap_or_else(|_| ("its file system".to_owned(), false));
    if is_memory {
        return Err(format!("{kind} keeps its files in memory: direct I/O does not apply to them"));
    }
    system::make_direct(fd, &kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{OFlags, fcntl_getfl};

    #[test]
    fn a_file_made_buffered_has_lost_the_flag_and_says_so_once() {
        // Cargo's own directory is on a real file system, where /tmp may be in memory.
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let notices = Arc::new(Notices::default());
        let file = OpenFile::new(file.into(), Path::new("file"), &notices);
        let has_flag = || fcntl_getfl(&file).unwrap().contains(OFlags::DIRECT);
        assert_eq!(file.is_direct(), has_flag());
        if !file.is_direct() {
            assert_eq!(notices.take().len(), 1);
            eprintln!("SKIPPED: no direct I/O here");
            return;
        }
        file.make_buffered();
        file.make_buffered();
        assert!(!file.is_direct() && !has_flag());
        let lines = notices.take();
        assert!(lines.len() == 1 && lines[0].contains("refused a direct transfer"), "{lines:?}");
        // One byte at an odd offset: a direct file would refuse it.
        assert_eq!(rustix::io::pwrite(&file, b"x", 1), Ok(1));
    }
}
