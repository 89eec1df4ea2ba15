//! An output: it appears under its name complete and at once, or not at all.
//!
//! ```text
//!            where the file system has O_TMPFILE            where it hasn't
//!  create    O_TMPFILE in the target's directory            open(".NAME.xsort-PID-RANDOM", O_EXCL)
//!  write     no name: invisible, nothing to clean up        hidden name: removed on drop
//!  publish   ftruncate, fsync                               ftruncate, fsync
//!            linkat -> NAME if that is free,                rename over NAME
//!            else linkat -> hidden name, rename over NAME
//!            fsync of the directory                         fsync of the directory
//! ```
//!
//! If no file may be replaced, the last step is linkat or renameat2 (RENAME_NOREPLACE), whatever
//! was there when the output was created.
//!
//! Decisions. A symbolic link as output is followed, and the file it leads to is replaced. A new
//! file gets mode 0666 less the umask. A replaced one keeps its mode, its access control list, its
//! extended attributes, and its owner and group if the system lets us; if not, a notice
//! of the disk says so. Its other hard links keep
//! the old content; for whom that is a loss, [`NewFile`](crate::NewFile) names the obstacle. An
//! existing file without write permission is an error, as it is for `sort -o`, though a rename
//! could replace it. So is anything that is not a regular file (a directory, a device, a pipe): a
//! rename can't replace its contents, but standard output can be redirected there.
//!
//! An unpublished file is locked (flock), so that `xsort status --clear` leaves it alone. A hidden
//! file remains only if there is no O_TMPFILE (some network and FUSE file systems) and the process
//! is killed at once (SIGKILL, power cut). Code that ends the process in another way before outputs
//! are published first calls [`abandon_outputs`](crate::abandon_outputs).

use crate::attributes::{LostOwner, take_over};
use crate::hidden_name::{create_hidden, hidden_name, register, unregister, with_hidden_name};
use crate::nameless::{create_linkable, proc_path};
use crate::output_place::{Followed, OutputPlace, refuse_append_only_directory};
use crate::system::{fsync, rename_if_free};
use crate::{DisplayPath, Error, Operation, persistent};
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, flock, ftruncate, linkat, openat, renameat,
    unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An unpublished output, and where it will be published.
#[derive(Debug)]
pub(crate) struct PendingOutput {
    /// The target's directory, held open because it may be renamed before the output is published.
    directory: Arc<OwnedFd>,
    name: OsString,
    /// The hidden name that the file has now, if any.
    hidden: Option<OsString>,
    /// True if the hidden name outlives this value and the process.
    is_persistent: bool,
    /// True if the output may not replace a file.
    no_clobber: bool,
    /// The path that the user gave, for messages.
    path: PathBuf,
    /// The owner of the file that it replaces, if it has another one.
    lost_owner: Option<LostOwner>,
}

/// Creates the file that will become `path`. With `no_clobber` an existing file is an error.
pub(crate) fn create(path: &Path, no_clobber: bool) -> Result<(OwnedFd, PendingOutput), Error> {
    let place = OutputPlace::find(path, no_clobber)?;
    place.refuse_old()?;
    let (fd, hidden) = create_at(&place).map_err(Operation::Create.failed_on(path))?;
    PendingOutput::begin(place, fd, hidden, false)
}

/// Creates a file at a place: without a name, or under the hidden name that it returns.
pub(crate) fn create_at(place: &OutputPlace<'_>) -> Result<(OwnedFd, Option<OsString>), Errno> {
    let mode = place.mode;
    if let Some(fd) = create_linkable(place.directory.as_fd(), mode)? {
        return Ok((fd, None));
    }
    let made =
        register(&place.directory, || create_hidden(place.directory.as_fd(), &place.name, mode));
    made.map(|(fd, hidden)| (fd, Some(hidden)))
}

/// Creates the file that will become `path`, under a hidden name that ends in `tag` and outlives
/// the process. Replaces a file of that name that an earlier process has left.
pub(crate) fn create_persistent(
    path: &Path,
    tag: &str,
    no_clobber: bool,
) -> Result<(OwnedFd, PendingOutput), Error> {
    let place = OutputPlace::find(path, no_clobber)?;
    place.refuse_old()?;
    // Its hidden name could neither be renamed nor removed.
    refuse_append_only_directory(&place.directory, &place.followed)
        .map_err(Operation::Create.failed_on(path))?;
    let hidden = hidden_name(&place.name, tag);
    let fd = persistent::replace_in(place.directory.as_fd(), &hidden, place.mode)
        .map_err(|errno| Error::new(Operation::Persist, place.sibling(&hidden), errno))?;
    PendingOutput::begin(place, fd, Some(hidden), true)
}

/// Opens a file that [`create_persistent`] created in an earlier process.
pub(crate) fn open_persistent(
    path: &Path,
    tag: &str,
    no_clobber: bool,
) -> Result<(OwnedFd, PendingOutput), Error> {
    let place = OutputPlace::find(path, no_clobber)?;
    let hidden = hidden_name(&place.name, tag);
    let fd = persistent::open_in(place.directory.as_fd(), Path::new(&hidden))
        .map_err(|errno| Error::new(Operation::Persist, place.sibling(&hidden), errno))?;
    place.refuse_old()?;
    PendingOutput::begin(place, fd, Some(hidden), true)
}

/// Makes the name of a published output durable.
pub(crate) fn sync_name(path: &Path) -> Result<(), Error> {
    let fail = |Error { source, .. }| Error::new(Operation::SyncName, path, source);
    let Followed { directory, .. } = Followed::new(path).map_err(fail)?;
    persistent::sync_directory(directory.as_fd(), Path::new("."))
        .map_err(Operation::SyncName.failed_on(path))
}

impl PendingOutput {
    /// Locks the new file and gives it what the old one has.
    pub(crate) fn begin(
        place: OutputPlace<'_>,
        fd: OwnedFd,
        hidden: Option<OsString>,
        is_persistent: bool,
    ) -> Result<(OwnedFd, PendingOutput), Error> {
        let OutputPlace { path, followed, directory, name, old, no_clobber, .. } = place;
        // The lock shows that the hidden name belongs to a living job. It is visible in all
        // containers, unlike a process ID. Some file systems have no locks.
        let _ = flock(&fd, FlockOperation::NonBlockingLockExclusive);
        let mut pending = PendingOutput {
            directory,
            name,
            hidden,
            is_persistent,
            no_clobber,
            path: path.to_owned(),
            lost_owner: None,
        };
        if let Some(old) = &old {
            pending.lost_owner =
                take_over(&fd, &followed, old).map_err(Operation::Create.failed_on(path))?;
        }
        Ok((fd, pending))
    }

    /// The owner of the file that it replaces, if it has another one.
    pub(crate) fn lost_owner(&self) -> Option<LostOwner> {
        self.lost_owner
    }

    /// Returns an error about this output.
    pub(crate) fn failed(&self, operation: Operation, source: io::Error) -> Error {
        Error::new(operation, &self.path, source)
    }

    /// Returns whether the file has a hidden name. A process that ends at once must remove it.
    pub(crate) fn has_hidden_name(&self) -> bool {
        self.hidden.is_some()
    }

    /// Truncates the file to `bytes` bytes, makes it durable and gives it its name. After
    /// [`Operation::SyncName`] the file has its name, which may not be durable; after any other
    /// error it doesn't have its name.
    pub(crate) fn publish(
        mut self,
        fd: BorrowedFd<'_>,
        bytes: u64,
        sync: bool,
    ) -> Result<(), Error> {
        let fail = |operation| move |path: &Path, errno: Errno| Error::new(operation, path, errno);
        ftruncate(fd, bytes).map_err(|errno| fail(Operation::Write)(&self.path, errno))?;
        if sync {
            retry_on_intr(|| fsync(fd))
                .map_err(|errno| fail(Operation::Sync)(&self.path, errno))?;
        }
        // Opened before the rename: if opening fails, the old output is still there.
        let directory = if sync { self.open_directory() } else { Ok(None) };
        let directory = directory.map_err(|errno| fail(Operation::Sync)(&self.path, errno))?;
        self.link_or_rename(fd).map_err(Operation::Rename.failed_on(&self.path))?;
        match directory.map_or(Ok(()), |directory| retry_on_intr(|| fsync(&directory))) {
            // Some file systems can't sync a directory.
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::ROFS) => Ok(()),
            Err(errno) => Err(fail(Operation::SyncName)(&self.path, errno)),
        }
    }

    /// Opens the directory to sync it. Returns `None` if it may be written but not read, because
    /// then it can't be opened.
    fn open_directory(&self) -> Result<Option<OwnedFd>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(&self.directory, c".", flags, Mode::empty()) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::ACCESS) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Removes the hidden name, if there is one and it still leads to the file.
    pub(crate) fn remove_hidden(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        let Some(hidden) = &self.hidden else { return Ok(()) };
        persistent::remove(self.directory.as_fd(), Path::new(hidden), fd)
    }

    fn link_or_rename(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        if self.hidden.is_none() {
            let link = |name: &OsStr| {
                linkat(CWD, proc_path(fd), &self.directory, name, AtFlags::SYMLINK_FOLLOW)
            };
            match link(&self.name) {
                Ok(()) => return Ok(()),
                // The name is taken, and linkat doesn't replace files.
                Err(Errno::EXIST) if !self.no_clobber => {
                    self.hidden =
                        Some(register(&self.directory, || with_hidden_name(&self.name, link))?.1);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        let hidden = self.hidden.as_ref().expect("set above");
        // Another process may have put another file there.
        if !persistent::leads_to(self.directory.as_fd(), Path::new(hidden), fd)? {
            let hidden = DisplayPath(Path::new(hidden)).to_string();
            return Err(io::Error::other(format!(
                "its hidden name {hidden} was removed, or is another file's by now"
            )));
        }
        self.rename(hidden)?;
        unregister(hidden);
        self.hidden = None;
        Ok(())
    }

    /// Replaces the file's hidden name with its final one.
    fn rename(&self, hidden: &OsStr) -> Result<(), Errno> {
        let directory = &self.directory;
        if !self.no_clobber {
            return renameat(directory, hidden, directory, &self.name);
        }
        match rename_if_free(directory.as_fd(), hidden, &self.name) {
            // The file system or the kernel doesn't know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(directory, hidden, directory, &self.name, AtFlags::empty())?;
                unlinkat(directory, hidden, AtFlags::empty())
            }
            renamed => renamed,
        }
    }
}

impl Drop for PendingOutput {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden
            && !self.is_persistent
        {
            let _ = unlinkat(&self.directory, hidden, AtFlags::empty());
            unregister(hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::open;
    use std::fs;
    use xsort_testing::names;

    /// Creates an output as on a file system without O_TMPFILE, which few test machines have.
    fn hidden(directory: &Path, name: &str, no_clobber: bool) -> (OwnedFd, PendingOutput) {
        let path = directory.join(name);
        let flags = crate::system::PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = Arc::new(open(directory, flags, Mode::empty()).unwrap());
        let (fd, hidden) = register(&directory, || {
            create_hidden(directory.as_fd(), OsStr::new(name), Mode::from_raw_mode(0o666))
        })
        .unwrap();
        let (name, hidden) = (name.into(), Some(hidden));
        let is_persistent = false;
        (
            fd,
            PendingOutput {
                directory,
                name,
                hidden,
                is_persistent,
                no_clobber,
                path,
                lost_owner: None,
            },
        )
    }

    #[test]
    fn a_hidden_name_is_removed_when_the_output_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) =
            (hidden(directory.path(), "out", false), hidden(directory.path(), "out", false));
        let prefix = format!(".out.xsort-{}-", std::process::id());
        assert!(
            names(directory.path()).len() == 2
                && names(directory.path()).iter().all(|name| name.starts_with(&prefix))
        );
        drop((first, second));
        assert_eq!(names(directory.path()), [""; 0]);
    }

    #[test]
    fn a_hidden_name_becomes_the_output_whether_or_not_there_was_one() {
        let directory = tempfile::tempdir().unwrap();
        for text in ["first", "second"] {
            let (fd, pending) = hidden(directory.path(), "out", false);
            rustix::io::pwrite(&fd, text.as_bytes(), 0).unwrap();
            pending.publish(fd.as_fd(), text.len() as u64, true).unwrap();
            assert_eq!(names(directory.path()), ["out"]);
            assert_eq!(fs::read_to_string(directory.path().join("out")).unwrap(), text);
        }
    }

    #[test]
    fn an_output_that_can_not_be_put_into_place_leaves_no_hidden_name() {
        let directory = tempfile::tempdir().unwrap();
        for is_hidden in [true, false] {
            let out = directory.path().join("out");
            let (fd, pending) = if is_hidden {
                hidden(directory.path(), "out", false)
            } else {
                create(&out, false).unwrap()
            };
            // Another process creates a directory of that name.
            fs::create_dir(&out).unwrap();
            let error = pending.publish(fd.as_fd(), 0, true).unwrap_err();
            assert_eq!(error.operation, Operation::Rename, "{error}");
            assert_eq!(names(directory.path()), ["out"]);
            fs::remove_dir(&out).unwrap();
        }
    }

    #[test]
    fn nothing_is_replaced_that_must_not_be() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        for is_hidden in [true, false] {
            let begin = || match is_hidden {
                true => hidden(directory.path(), "out", true),
                false => create(&out, true).unwrap(),
            };
            let (first, second) = (begin(), begin());
            first.1.publish(first.0.as_fd(), 1, true).unwrap();
            let error = second.1.publish(second.0.as_fd(), 2, true).unwrap_err();
            assert_eq!(error.operation, Operation::Rename, "{error}");
            assert!(error.to_string().contains("--no-clobber"), "{error}");
            assert_eq!(create(&out, true).unwrap_err().source.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(names(directory.path()), ["out"]);
            assert_eq!(fs::metadata(&out).unwrap().len(), 1);
            fs::remove_file(&out).unwrap();
        }
    }
}
