//! The output: it appears whole, under its name, at once, or not at all.
//!
//! ```text
//!  create    O_TMPFILE in the target's directory      or, where the file system can't:  open(".NAME.xsort-PID-RANDOM", O_EXCL)
//!  write     no name: nobody sees it, nothing to clean up          hidden name: removed on drop
//!  publish   ftruncate, fsync, linkat -> NAME if that is free,
//!            else linkat -> hidden name, rename over NAME          ftruncate, fsync, rename over NAME
//!            fsync of the directory                                fsync of the directory
//! ```
//!
//! Decisions: a symbolic link as output is followed and the file it leads to is replaced (as `sort
//! -o` writes through it). A new file gets mode 0666 less the umask; a replaced one keeps its mode,
//! and its owner and group if the system lets us; access lists and extended attributes, and other
//! hard links to the old file, are not carried over. An existing file without write permission is
//! an error, as it would be for `sort -o`, though a rename could replace it. What exists and is not
//! a regular file (a directory, a device, a pipe) is an error: there is nothing to rename over;
//! standard output redirected there does it.
//!
//! While it is under way the file is locked (flock), for `xsort status --clear`. Only where there
//! is no O_TMPFILE (some network and FUSE file systems) and the process is killed outright
//! (SIGKILL, power) a hidden file remains. Who ends the process in another way, with outputs under
//! way, calls [`abandon_outputs`].

use crate::drive::parent;
use crate::{Error, Operation, Shown, kept};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, accessat, fchmod, flock,
    fsync, ftruncate, linkat, open, openat, renameat, statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Links that are followed before a circle is suspected, as in the Linux kernel.
const LINKS_MAX: u32 = 40;

/// Bytes of the output's name in a hidden one. With any suffix that fits names of 143 bytes, the
/// shortest limit in use (eCryptfs); most file systems allow 255.
const STEM_BYTES_MAX: usize = 96;

/// A hidden name that an output has for now.
struct Hidden {
    directory: Arc<OwnedFd>,
    name: OsString,
}

/// Those of the whole process: who ends it doesn't know its disks.
static HIDDEN: Mutex<Vec<Hidden>> = Mutex::new(Vec::new());

fn hidden_names() -> MutexGuard<'static, Vec<Hidden>> {
    HIDDEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts the hidden name that `make` makes on the list, before anybody can look at that again.
fn remembered<T>(
    directory: &Arc<OwnedFd>,
    make: impl FnOnce() -> Result<(T, OsString), Errno>,
) -> Result<(T, OsString), Errno> {
    let mut names = hidden_names();
    let (made, name) = make()?;
    names.push(Hidden { directory: Arc::clone(directory), name: name.clone() });
    Ok((made, name))
}

/// Takes a name off the list. Each has a random number, so that no two are alike.
fn forget(name: &OsStr) {
    hidden_names().retain(|other| other.name != name);
}

/// For a process that ends at once, from any of its threads: removes the hidden names of all
/// outputs that are not in place. None gets into place afterwards, and threads that try wait for
/// the end.
pub fn abandon_outputs() {
    let names = hidden_names();
    for Hidden { directory, name } in names.iter() {
        // What can't be removed now, `xsort status --clear` finds.
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
    std::mem::forget(names);
}

/// Where an output goes once it is whole.
#[derive(Debug)]
pub(crate) struct Unpublished {
    /// The target's directory, so that it may be renamed meanwhile.
    directory: Arc<OwnedFd>,
    name: OsString,
    /// The name the file has now, if it has one.
    hidden: Option<OsString>,
    /// The hidden name stays when this is dropped.
    stays: bool,
    /// What the user called it, for messages.
    path: PathBuf,
}

/// Creates the file that is to become `path`.
pub(crate) fn create(path: &Path) -> Result<(OwnedFd, Unpublished), Error> {
    let target = Target::of(path)?;
    let mode = target.mode();
    let made = match create_nameless(target.directory.as_fd(), mode) {
        Ok(Some(fd)) => Ok((fd, None)),
        Ok(None) => remembered(&target.directory, || {
            create_hidden(target.directory.as_fd(), &target.name, mode)
        })
        .map(|(fd, hidden)| (fd, Some(hidden))),
        Err(errno) => Err(errno),
    };
    let (fd, hidden) = made.map_err(|errno| Error::new(Operation::Create, path, errno))?;
    target.unpublished(fd, hidden, false)
}

/// The same under a hidden name that ends in `tag`. A file that has this name since an earlier
/// process goes.
pub(crate) fn create_kept(path: &Path, tag: &str) -> Result<(OwnedFd, Unpublished), Error> {
    let target = Target::of(path)?;
    let hidden = hidden_name(&target.name, tag);
    let fd = kept::replace_in(target.directory.as_fd(), &hidden, target.mode())
        .map_err(|errno| Error::new(Operation::Keep, target.beside(&hidden), errno))?;
    target.unpublished(fd, Some(hidden), true)
}

/// Opens what [`create_kept`] has made in an earlier process.
pub(crate) fn open_kept(path: &Path, tag: &str) -> Result<(OwnedFd, Unpublished), Error> {
    let target = Target::of(path)?;
    let hidden = hidden_name(&target.name, tag);
    let fd = kept::open_in(target.directory.as_fd(), Path::new(&hidden))
        .map_err(|errno| Error::new(Operation::Keep, target.beside(&hidden), errno))?;
    target.unpublished(fd, Some(hidden), true)
}

/// Where an output is to appear, and what is there now.
struct Target<'p> {
    /// What the user called it.
    path: &'p Path,
    /// The same with symbolic links followed.
    followed: PathBuf,
    directory: Arc<OwnedFd>,
    name: OsString,
    old: Option<Stat>,
}

impl<'p> Target<'p> {
    fn of(path: &'p Path) -> Result<Target<'p>, Error> {
        let fail = |source: io::Error| Error::new(Operation::Create, path, source);
        let followed = follow_links(path)?;
        let old = inspect_old(&followed).map_err(fail)?;
        let name =
            followed.file_name().ok_or_else(|| fail(invalid("the path names no file")))?.to_owned();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(parent(&followed), flags, Mode::empty())
            .map(Arc::new)
            .map_err(|errno| fail(errno.into()))?;
        Ok(Target { path, followed, directory, name, old })
    }

    /// Not even for a moment may more people read the new file than could read the old one.
    fn mode(&self) -> Mode {
        Mode::from_raw_mode(self.old.as_ref().map_or(0o666, |old| old.st_mode & 0o777))
    }

    /// The path of another name in its directory.
    fn beside(&self, name: &OsStr) -> PathBuf {
        self.followed.with_file_name(name)
    }

    /// The new file, which is to get the old one's mode and owner.
    fn unpublished(
        self,
        fd: OwnedFd,
        hidden: Option<OsString>,
        stays: bool,
    ) -> Result<(OwnedFd, Unpublished), Error> {
        let Target { path, directory, name, old, .. } = self;
        // While it is under way nobody may take a hidden name for a dead job's; this is seen in all
        // containers, where the number of a process is not. A file system without locks doesn't
        // mind.
        let _ = flock(&fd, FlockOperation::NonBlockingLockExclusive);
        let unpublished = Unpublished { directory, name, hidden, stays, path: path.to_owned() };
        if let Some(old) = old {
            inherit(&fd, &old).map_err(|source| Error::new(Operation::Create, path, source))?;
        }
        Ok((fd, unpublished))
    }
}

/// Makes durable that an output which is in place has its name.
pub(crate) fn sync_name(path: &Path) -> Result<(), Error> {
    let directory = parent(&follow_links(path)?);
    kept::sync_directory(CWD, &directory)
        .map_err(|errno| Error::new(Operation::SyncName, path, errno))
}

/// The same place with symbolic links at its end resolved, whether or not the last one leads to
/// something.
fn follow_links(path: &Path) -> Result<PathBuf, Error> {
    let mut target = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&target) {
            Ok(link) => target = parent(&target).join(link),
            // EINVAL: not a link. ENOENT: nothing there yet. Other errors come again, with a better
            // place, when it is created.
            Err(_) => return Ok(target),
        }
    }
    Err(Error::new(Operation::Create, path, Errno::LOOP))
}

/// The old output's properties if there is one. Refuses what can't be replaced by a regular file.
fn inspect_old(target: &Path) -> io::Result<Option<Stat>> {
    if target.as_os_str().as_bytes().ends_with(b"/") {
        return Err(invalid(
            "a name that ends in a slash is a directory's; the output must be a file",
        ));
    }
    let old = match statat(CWD, target, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => old,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    match FileType::from_raw_mode(old.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(invalid("it is a directory; the output must be a file")),
        _ => {
            return Err(invalid(
                "it is a device or a pipe, which nothing can be renamed over; redirect standard output to it instead",
            ));
        }
    }
    match accessat(CWD, target, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Err(errno.into()),
        // A kernel without faccessat2 can't answer for the effective user; then the directory's
        // permission decides alone.
        _ => Ok(Some(old)),
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// A file without a name, if the file system can do that and the file can be given a name later.
fn create_nameless(directory: BorrowedFd<'_>, mode: Mode) -> Result<Option<OwnedFd>, Errno> {
    match openat(directory, c".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
        // Naming goes through /proc; where that isn't mounted, better learn it now than after the
        // sort.
        Ok(fd) => Ok(accessat(CWD, proc_path(fd.as_fd()), Access::EXISTS, AtFlags::empty())
            .is_ok()
            .then_some(fd)),
        // ISDIR and NOENT are what kernels say that don't know the flag.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {
            Ok(None)
        }
        Err(errno) => Err(errno),
    }
}

fn proc_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// A new file under a hidden name beside `name`.
pub(crate) fn create_hidden(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    mode: Mode,
) -> Result<(OwnedFd, OsString), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    with_hidden_name(name, |hidden| openat(directory, hidden, flags, mode))
}

/// `.NAME` and the suffix, with so much of a long name that it fits: only the suffix tells one from
/// another.
pub fn hidden_name(name: &OsStr, suffix: &str) -> OsString {
    let name = name.as_bytes();
    let mut end = name.len().min(STEM_BYTES_MAX);
    // Not within a character: some file systems take nothing but UTF-8.
    while end < name.len() && end > STEM_BYTES_MAX - 3 && name[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let mut hidden = OsString::from(".");
    hidden.push(OsStr::from_bytes(&name[..end]));
    hidden.push(suffix);
    hidden
}

/// Calls `make` with hidden names until one is free.
fn with_hidden_name<T>(
    name: &OsStr,
    make: impl Fn(&OsStr) -> Result<T, Errno>,
) -> Result<(T, OsString), Errno> {
    loop {
        // A RandomState is seeded by the system once a thread and differs by one each time, so that
        // names of two threads and of two processes with one number (in two containers) differ as
        // well. O_EXCL decides in the end.
        let random = RandomState::new().build_hasher().finish();
        let hidden = hidden_name(name, &format!(".xsort-{}-{random:016x}", std::process::id()));
        match make(&hidden) {
            Ok(made) => return Ok((made, hidden)),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Mode, and owner and group where permitted, of the old output.
fn inherit(fd: &OwnedFd, old: &Stat) -> io::Result<()> {
    let new = rustix::fs::fstat(fd)?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        // If it is refused, someone else's file that we may write becomes ours.
        let _ = std::os::unix::fs::fchown(fd, Some(old.st_uid), Some(old.st_gid));
    }
    // Without the set-user-ID and set-group-ID bits, which any write to a file takes away too: new
    // content has not earned them.
    Ok(fchmod(fd, Mode::from_raw_mode(old.st_mode & 0o777))?)
}

impl Unpublished {
    /// Cuts the file to its length, makes it durable and puts it under its name. Fails with
    /// [`Operation::SyncName`] if all of this is done and only whether the name is durable isn't
    /// known; else it has not got its name.
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
        // Opened before, so that what can't be is found while the old output is still there.
        let directory = if sync { self.open_directory() } else { Ok(None) };
        let directory = directory.map_err(|errno| fail(Operation::Sync)(&self.path, errno))?;
        self.put_under_name(fd)
            .map_err(|source| Error::new(Operation::Rename, &self.path, source))?;
        match directory.map_or(Ok(()), |directory| retry_on_intr(|| fsync(&directory))) {
            // Some file systems have nothing to sync there.
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::ROFS) => Ok(()),
            Err(errno) => Err(fail(Operation::SyncName)(&self.path, errno)),
        }
    }

    /// The directory, to be synced; none if it may be written to but not read, for then it can't
    /// be.
    fn open_directory(&self) -> Result<Option<OwnedFd>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(&self.directory, c".", flags, Mode::empty()) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::ACCESS) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Removes the hidden name, if there is one and it is still the file's.
    pub(crate) fn remove_hidden(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        let Some(hidden) = &self.hidden else { return Ok(()) };
        kept::remove(self.directory.as_fd(), Path::new(hidden), fd)
    }

    fn put_under_name(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        if self.hidden.is_none() {
            let link = |name: &OsStr| {
                linkat(CWD, proc_path(fd), &self.directory, name, AtFlags::SYMLINK_FOLLOW)
            };
            match link(&self.name) {
                Ok(()) => return Ok(()),
                // The name is taken, and linkat replaces nothing.
                Err(Errno::EXIST) => {
                    self.hidden =
                        Some(remembered(&self.directory, || with_hidden_name(&self.name, link))?.1);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        let hidden = self.hidden.as_ref().expect("set above");
        // Whoever may write to the directory can have put another file there.
        if !kept::leads_to(self.directory.as_fd(), Path::new(hidden), fd)? {
            let hidden = Shown(Path::new(hidden)).to_string();
            return Err(io::Error::other(format!(
                "its hidden name {hidden} was removed, or is another file's by now"
            )));
        }
        renameat(&self.directory, hidden, &self.directory, &self.name)?;
        forget(hidden);
        self.hidden = None;
        Ok(())
    }
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden
            && !self.stays
        {
            let _ = unlinkat(&self.directory, hidden, AtFlags::empty());
            forget(hidden);
        }
    }
}

/// A nameless file for scratch: O_TMPFILE, else created and unlinked at once.
pub(crate) fn create_scratch(directory: &Path) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(0o600);
    let place = open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    // O_EXCL: nobody can give it a name either.
    let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    match openat(&place, c".", flags, mode) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {
            let (fd, hidden) = create_hidden(place.as_fd(), OsStr::new("scratch"), mode)?;
            unlinkat(&place, hidden, AtFlags::empty())?;
            Ok(fd)
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output on a file system without O_TMPFILE, which few machines that run tests have.
    fn hidden(directory: &Path, name: &str) -> (OwnedFd, Unpublished) {
        let place = Arc::new(
            open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .unwrap(),
        );
        let (fd, hidden) = remembered(&place, || {
            create_hidden(place.as_fd(), OsStr::new(name), Mode::from_raw_mode(0o666))
        })
        .unwrap();
        let path = directory.join(name);
        (
            fd,
            Unpublished {
                directory: place,
                name: name.into(),
                hidden: Some(hidden),
                stays: false,
                path,
            },
        )
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn hidden_names_fit_and_end_between_characters() {
        let suffix = ".xsort-0123456789abcdef.scratch-1000";
        for unit in ["n", "\u{fc}", "\u{4e2d}", "\u{1f980}"] {
            for lead in ["", "a", "ab", "abc"] {
                let name = format!("{lead}{}", unit.repeat((255 - lead.len()) / unit.len()));
                let hidden = hidden_name(OsStr::new(&name), suffix);
                assert!(hidden.len() <= 143 && hidden.len() > STEM_BYTES_MAX, "{hidden:?}");
                let stem = hidden.to_str().expect("whole characters").strip_suffix(suffix).unwrap();
                assert!(name.starts_with(stem.strip_prefix('.').unwrap()), "{hidden:?}");
            }
        }
        assert_eq!(hidden_name(OsStr::new("out"), "-1"), ".out-1");
        assert_eq!(
            hidden_name(OsStr::from_bytes(&[0xbf; 255]), suffix).len(),
            1 + 93 + suffix.len()
        );
    }

    #[test]
    fn a_hidden_name_is_taken_along_when_the_output_is_given_up() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (hidden(place.path(), "out"), hidden(place.path(), "out"));
        let prefix = format!(".out.xsort-{}-", std::process::id());
        assert!(
            names(place.path()).len() == 2
                && names(place.path()).iter().all(|name| name.starts_with(&prefix))
        );
        drop((first, second));
        assert_eq!(names(place.path()), [""; 0]);
    }

    #[test]
    fn a_hidden_name_becomes_the_output_whether_or_not_there_was_one() {
        let place = tempfile::tempdir().unwrap();
        for text in ["first", "second"] {
            let (fd, unpublished) = hidden(place.path(), "out");
            rustix::io::pwrite(&fd, text.as_bytes(), 0).unwrap();
            unpublished.publish(fd.as_fd(), text.len() as u64, true).unwrap();
            assert_eq!(names(place.path()), ["out"]);
            assert_eq!(fs::read_to_string(place.path().join("out")).unwrap(), text);
        }
    }

    #[test]
    fn an_output_that_can_not_be_put_into_place_leaves_no_hidden_name() {
        let place = tempfile::tempdir().unwrap();
        for is_hidden in [true, false] {
            let out = place.path().join("out");
            let (fd, unpublished) =
                if is_hidden { hidden(place.path(), "out") } else { create(&out).unwrap() };
            // Someone makes a directory of that name meanwhile.
            fs::create_dir(&out).unwrap();
            let error = unpublished.publish(fd.as_fd(), 0, true).unwrap_err();
            assert_eq!(error.operation, Operation::Rename, "{error}");
            assert_eq!(names(place.path()), ["out"]);
            fs::remove_dir(&out).unwrap();
        }
    }
}
