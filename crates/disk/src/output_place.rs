//! Where an output will appear, and which file is there now.
//!
//! A symbolic link is followed, and its target is replaced (as `sort -o` writes through it). There
//! are exceptions in a sticky directory that all users may write to, such as `/tmp`, for files of
//! other users who don't own the directory: their links are not followed, wherever in the path they
//! are, and their files are neither replaced nor rewritten. The kernel has the same rules
//! (`fs.protected_symlinks`, `fs.protected_regular`), but an administrator can switch them off, and
//! they apply only to `open`, while an output is renamed. Without them any user could choose which
//! file a privileged sort replaces, or who owns its output.
//!
//! Each component is opened relative to the directory that contains it, so that no link can replace
//! a directory between check and use.

use crate::drive::parent_directory;
use crate::system::{Entry, PATH_ONLY, attributes, has_kernel_links, look_up};
use crate::{DisplayPath, Error, Operation, place};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, RawMode, Stat, accessat, fstat, open, openat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Maximum number of links followed before they count as a circle, as in the Linux kernel.
const LINKS_MAX: u32 = 40;

/// The mode bits of a directory that all users may write to, and in which only a name's owner may
/// remove it.
const SHARED_DIRECTORY: RawMode = 0o1002;

const IS_DIRECTORY: &str = "it is a directory; the output must be a file";

/// A path followed to its end: symbolic links are resolved, except links that another user planted.
pub(crate) struct Followed {
    /// The path with symbolic links at its end resolved.
    pub(crate) path: PathBuf,
    /// The directory that contains it.
    pub(crate) directory: Arc<OwnedFd>,
    /// Its name in that directory.
    pub(crate) name: OsString,
    /// The properties of the file that has this name now.
    pub(crate) found: Option<Stat>,
    /// True if the name is the kernel's for an open file, such as `/dev/stdout`.
    pub(crate) is_open_file: bool,
}

impl Followed {
    /// Follows a path. Fails if its directory can't be reached, or if the path leads through
    /// another user's link in a directory shared by all users.
    pub(crate) fn new(path: &Path) -> Result<Followed, Error> {
        follow_links(path).map_err(Operation::Create.failed_on(path))
    }

    /// Fails if another user put the file into a directory shared by all users.
    pub(crate) fn refuse_planted_file(&self) -> io::Result<()> {
        self.found.as_ref().map_or(Ok(()), |found| self.refuse_if_planted(found))
    }

    /// Fails if another user put the file `opened` under this name after the check.
    pub(crate) fn refuse_planted_meanwhile(&self, opened: impl AsFd) -> io::Result<()> {
        self.refuse_if_planted(&fstat(opened)?)
    }

    fn refuse_if_planted(&self, found: &Stat) -> io::Result<()> {
        if self.is_open_file { Ok(()) } else { refuse_planted(&self.directory, "file", found) }
    }

    /// Returns whether it is the root of a mount. A kernel that doesn't tell (before 5.8) fails the
    /// rename instead.
    pub(crate) fn is_mount_point(&self) -> bool {
        attributes(&self.directory, &self.name).is_mount_point
    }

    /// Refuses a file that may only be appended to.
    pub(crate) fn refuse_append_only(&self) -> io::Result<()> {
        refuse_append_only(&self.directory, &self.name, "it", &self.path)
    }
}

/// Refuses a directory that only gets names and loses none: nothing in it can be replaced.
pub(crate) fn refuse_append_only_directory(directory: &OwnedFd, file: &Path) -> io::Result<()> {
    let path = parent_directory(file);
    refuse_append_only(directory, OsStr::new(""), "its directory", &path)
}

/// Refuses to make a file at `path` that is to be removed again, if its directory loses none.
pub(crate) fn refuse_unremovable(path: &Path) -> io::Result<()> {
    let directory = parent_directory(path);
    refuse_append_only(CWD, directory.join(".").as_os_str(), "its directory", &directory)
}

/// Refuses `what`, at `path`, if it may only be appended to.
fn refuse_append_only(
    directory: impl AsFd,
    name: &OsStr,
    what: &str,
    path: &Path,
) -> io::Result<()> {
    if !attributes(directory, name).is_append_only {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{what} may only be appended to (chattr +a): end that ('chattr -a {}'), or choose \
             another place",
            DisplayPath(path)
        ),
    ))
}

/// Where an output will appear, and which file is there now.
pub(crate) struct OutputPlace<'p> {
    /// The path that the user gave.
    pub(crate) path: &'p Path,
    /// The path with symbolic links at its end followed.
    pub(crate) followed: PathBuf,
    /// The directory that contains `followed`.
    pub(crate) directory: Arc<OwnedFd>,
    /// Its name in that directory.
    pub(crate) name: OsString,
    /// The file that has this name now, if there is one.
    pub(crate) old: Option<Stat>,
    /// True if no file may be replaced.
    pub(crate) no_clobber: bool,
    /// The mode to create the file with. It is the old file's mode, because at no moment may more
    /// users be able to read the new file than the old one.
    pub(crate) mode: Mode,
}

impl<'p> OutputPlace<'p> {
    /// Inspects a path. Fails if the output can't appear there.
    pub(crate) fn find(path: &'p Path, no_clobber: bool) -> Result<OutputPlace<'p>, Error> {
        place::refuse_url(Operation::Create, path)?;
        OutputPlace::at(path, Followed::new(path)?, no_clobber)
    }

    /// Returns the place to which `path` was followed. Fails if the output can't appear there.
    pub(crate) fn at(
        path: &'p Path,
        followed: Followed,
        no_clobber: bool,
    ) -> Result<OutputPlace<'p>, Error> {
        let inspected = refuse_irreplaceable(&followed);
        inspected.map_err(Operation::Create.failed_on(path))?;
        let Followed { path: followed, directory, name, found: old, .. } = followed;
        let mode = Mode::from_raw_mode(old.as_ref().map_or(0o666, |old| old.st_mode & 0o777));
        Ok(OutputPlace { path, followed, directory, name, old, no_clobber, mode })
    }

    /// Fails if there is an old file that may not be replaced. Called before the work, not after
    /// it.
    pub(crate) fn refuse_old(&self) -> Result<(), Error> {
        if self.no_clobber && self.old.is_some() {
            return Err(Error::new(Operation::Create, self.path, Errno::EXIST));
        }
        Ok(())
    }

    /// Returns the path of another name in the same directory.
    pub(crate) fn sibling(&self, name: &OsStr) -> PathBuf {
        self.followed.with_file_name(name)
    }
}

/// Follows the symbolic links at the end of a path. The last one may lead to no file.
fn follow_links(path: &Path) -> io::Result<Followed> {
    let mut target = path.to_owned();
    for _ in 0..LINKS_MAX {
        let name = file_name(&target)?.to_owned();
        let directory = open_directory(&parent_directory(&target))?;
        let Some((entry, found)) = find_entry(&directory, &name)? else {
            let directory = Arc::new(directory);
            let (found, is_open_file) = (None, false);
            return Ok(Followed { path: target, directory, name, found, is_open_file });
        };
        let is_open_file = is_link(&found) && has_kernel_links(&directory);
        if is_open_file || !is_link(&found) {
            let (directory, found) = (Arc::new(directory), Some(found));
            return Ok(Followed { path: target, directory, name, found, is_open_file });
        }
        refuse_planted(&directory, "link", &found)?;
        target = parent_directory(&target).join(link_text(entry)?);
    }
    Err(Errno::LOOP.into())
}

/// Returns the last name of a path. Fails if it can't be a file's name.
fn file_name(path: &Path) -> io::Result<&OsStr> {
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(invalid(
            "a name that ends in a slash is a directory's; the output must be a file",
        ));
    }
    path.file_name().ok_or_else(|| match path.exists() {
        true => invalid(IS_DIRECTORY),
        false => invalid("the path names no file"),
    })
}

/// Opens a directory, one component of its path after the other. The kernel's rule for links in
/// shared directories is applied to each of them.
fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let start = |path: &Path| if path.is_absolute() { c"/" } else { c"." };
    let mut directory = open(start(path), flags, Mode::empty())?;
    let mut names = names_from_the_last(path);
    let mut links = 0;
    while let Some(name) = names.pop() {
        // A link gives ENOTDIR.
        match openat(&directory, &name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            opened => {
                directory = opened?;
                continue;
            }
        }
        let (entry, found) = find_entry(&directory, &name)?.ok_or(Errno::NOENT)?;
        if !is_link(&found) {
            return Err(Errno::NOTDIR.into());
        }
        if has_kernel_links(&directory) {
            directory = openat(&directory, &name, flags, Mode::empty())?;
            continue;
        }
        refuse_planted(&directory, "link", &found)?;
        links += 1;
        if links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        let text = link_text(entry)?;
        if text.is_absolute() {
            directory = open(c"/", flags, Mode::empty())?;
        }
        names.extend(names_from_the_last(&text));
    }
    Ok(directory)
}

/// Returns the names in a path, the last one first.
fn names_from_the_last(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter(|component| match component {
        Component::Normal(_) | Component::ParentDir => true,
        Component::Prefix(_) | Component::RootDir | Component::CurDir => false,
    });
    names.map(|component| component.as_os_str().to_owned()).collect()
}

/// Looks up a name in a directory, without following a link. `None` if there is none.
fn find_entry(directory: &OwnedFd, name: &OsStr) -> io::Result<Option<(Entry, Stat)>> {
    match look_up(directory, name) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn is_link(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Symlink
}

fn link_text(link: Entry) -> io::Result<PathBuf> {
    Ok(OsString::from_vec(link.link_text()?.into_bytes()).into())
}

/// The reason why one of the kernel's links, such as `/dev/stdout`, is not followed.
#[derive(Debug)]
pub(crate) struct OpenFile;

impl fmt::Display for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "it stands for a file that a process has open, which can't be replaced: give '-' as \
             the output and redirect standard output",
        )
    }
}

impl std::error::Error for OpenFile {}

/// Fails if another user has put this entry into a directory shared by all users.
fn refuse_planted(directory: &OwnedFd, what: &str, found: &Stat) -> io::Result<()> {
    let directory = fstat(directory)?;
    let is_shared = directory.st_mode & SHARED_DIRECTORY == SHARED_DIRECTORY;
    let is_trusted = [geteuid().as_raw(), directory.st_uid].contains(&found.st_uid);
    if !is_shared || is_trusted {
        return Ok(());
    }
    let user = found.st_uid;
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "this {what} belongs to user {user}, in a directory that all users may write to: \
             remove it first, or choose another name"
        ),
    ))
}

/// Fails if the entry at the path can't be replaced by a regular file.
fn refuse_irreplaceable(followed: &Followed) -> io::Result<()> {
    if followed.is_open_file {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, OpenFile));
    }
    let Some(old) = &followed.found else { return Ok(()) };
    match FileType::from_raw_mode(old.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(invalid(IS_DIRECTORY)),
        _ => {
            return Err(invalid(
                "it is a device or a pipe, which nothing can be renamed over: give '-' as the \
                 output and redirect standard output to it",
            ));
        }
    }
    followed.refuse_planted_file()?;
    followed.refuse_append_only()?;
    refuse_append_only_directory(&followed.directory, &followed.path)?;
    if followed.is_mount_point() {
        return Err(invalid(
            "a file system is mounted on it (a bind mount of one file, as containers have), and \
             nothing can be renamed over that: give '-' as the output and redirect standard \
             output to it",
        ));
    }
    match accessat(&followed.directory, &followed.name, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Err(errno.into()),
        // A kernel without faccessat2 can't answer for the effective user; then only the
        // directory's permissions decide.
        _ => Ok(()),
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    /// A privileged user's sort to a name in such a directory once replaced the target of another
    /// user's link, or gave its output to the owner of an existing file.
    #[test]
    fn what_other_users_planted_is_neither_followed_nor_replaced() {
        if !geteuid().is_root() {
            eprintln!("only root can make files of another user: nothing was tried");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let (link, second, file) = (at("link"), at("second"), at("file"));
        fs::write(&file, "planted").unwrap();
        symlink("victim", &link).unwrap();
        symlink("link", &second).unwrap();
        let (private, way) = (tempfile::tempdir().unwrap(), at("way"));
        symlink(private.path(), &way).unwrap();
        symlink(&way, private.path().join("way")).unwrap();
        let below = [way.join("out"), private.path().join("way/out")];
        for name in [&link, &file, &way] {
            lchown(name, Some(12345), None).unwrap();
        }
        let find = |path: &Path| OutputPlace::find(path, false).map(|place| place.followed);
        let set_mode = |mode| {
            fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o1777);
        for (name, what) in [(&link, "link"), (&second, "link"), (&file, "file")] {
            let error = find(name).unwrap_err();
            assert_eq!(error.source.kind(), io::ErrorKind::PermissionDenied, "{error}");
            assert!(error.to_string().contains(&format!("this {what} belongs to user 12345")));
        }
        for path in &below {
            let error = find(path).unwrap_err();
            assert!(error.to_string().contains("this link belongs to user 12345"), "{error}");
        }
        // The kernel trusts them in these cases, too.
        set_mode(0o777);
        assert_eq!(find(&second).unwrap(), at("victim"));
        assert_eq!(find(&file).unwrap(), file);
        assert_eq!(find(&below[1]).unwrap(), below[1]);
        set_mode(0o1777);
        lchown(directory.path(), Some(12345), None).unwrap();
        assert_eq!(find(&second).unwrap(), at("victim"));
        assert_eq!(find(&file).unwrap(), file);
    }

    #[test]
    fn links_are_followed_up_to_the_kernels_limit() {
        let directory = tempfile::tempdir().unwrap();
        let at = |number: u32| directory.path().join(format!("{number}"));
        (0..50).for_each(|number| symlink(at(number + 1), at(number)).unwrap());
        assert_eq!(follow_links(&at(50 - 39)).unwrap().path, at(50));
        assert_eq!(follow_links(&at(0)).err().and_then(|error| error.raw_os_error()), Some(40));
    }
}
