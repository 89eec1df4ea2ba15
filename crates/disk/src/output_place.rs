//! Where an output is to appear, and what is there now.
//!
//! A symbolic link is followed, and the file it leads to is replaced (as `sort -o` writes through
//! it). In a sticky directory that all users may write to, such as `/tmp`, another user's link is
//! not followed and another user's file is not replaced, unless that user owns the directory. The
//! kernel has the same rules (`fs.protected_symlinks`, `fs.protected_regular`), but they apply to
//! `open` alone, and an output is renamed. Without them any user could choose which file a
//! privileged sort replaces, or who owns its output.
//!
//! Not how the output is written, or what it takes over from the old file.

use crate::drive::parent_directory;
use crate::{Error, Operation, place};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, StatxAttributes,
    StatxFlags, accessat, open, stat, statat, statfs, statx,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many links are followed before they count as a circle, as in the Linux kernel.
const LINKS_MAX: u32 = 40;

/// The mode bits of a directory that all users may write to, and in which only the owner of a name
/// may remove it.
const SHARED_DIRECTORY: u32 = 0o1002;

/// Where an output is to appear, and what is there now.
pub(crate) struct OutputPlace<'p> {
    /// What the user called it.
    pub(crate) path: &'p Path,
    /// The path with symbolic links followed.
    pub(crate) followed: PathBuf,
    /// The directory that `followed` is in.
    pub(crate) directory: Arc<OwnedFd>,
    /// The name in that directory.
    pub(crate) name: OsString,
    /// The file that has this name now, if there is one.
    pub(crate) old: Option<Stat>,
    /// Whether nothing may be replaced.
    pub(crate) no_clobber: bool,
}

impl<'p> OutputPlace<'p> {
    /// Looks at a path. Fails if the output can't appear there.
    pub(crate) fn find(path: &'p Path, no_clobber: bool) -> Result<OutputPlace<'p>, Error> {
        place::refuse_url(Operation::Create, path)?;
        let fail = |source: io::Error| Error::new(Operation::Create, path, source);
        let followed = follow_links(path).map_err(fail)?;
        let old = inspect_old(&followed).map_err(fail)?;
        let name =
            followed.file_name().ok_or_else(|| fail(invalid("the path names no file")))?.to_owned();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(parent_directory(&followed), flags, Mode::empty())
            .map(Arc::new)
            .map_err(|errno| fail(errno.into()))?;
        Ok(OutputPlace { path, followed, directory, name, old, no_clobber })
    }

    /// Refuses to replace what is there, if nothing may be replaced: before the work, not after it.
    pub(crate) fn refuse_old(&self) -> Result<(), Error> {
        if self.no_clobber && self.old.is_some() {
            return Err(Error::new(Operation::Create, self.path, Errno::EXIST));
        }
        Ok(())
    }

    /// The old file's mode: at no moment may more users read the new file than could read the old
    /// one.
    pub(crate) fn mode(&self) -> Mode {
        Mode::from_raw_mode(self.old.as_ref().map_or(0o666, |old| old.st_mode & 0o777))
    }

    /// The path of another name in the same directory.
    pub(crate) fn sibling(&self, name: &OsStr) -> PathBuf {
        self.followed.with_file_name(name)
    }
}

/// The path with symbolic links at its end resolved, whether or not the last one leads to a file.
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS_MAX {
        // EINVAL: not a link. ENOENT: nothing there yet. Other errors recur, with a better message,
        // when the output is created.
        let Ok(link) = fs::read_link(&target) else { return Ok(target) };
        if is_open_file(&target) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, OpenFile));
        }
        refuse_planted(&target, "link", &statat(CWD, &target, AtFlags::SYMLINK_NOFOLLOW)?)?;
        target = parent_directory(&target).join(link);
    }
    Err(Errno::LOOP.into())
}

/// The reason for which a link of the kernel's, such as `/dev/stdout`, is not followed.
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

/// Whether a symbolic link is one of the kernel's, such as `/proc/self/fd/1`: these lead to open
/// files, whatever the text of the link says.
fn is_open_file(link: &Path) -> bool {
    statfs(parent_directory(link)).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
}

/// Refuses what another user has put into a directory that all users share.
fn refuse_planted(path: &Path, what: &str, found: &Stat) -> io::Result<()> {
    let directory = stat(parent_directory(path))?;
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

/// The old output's properties, if there is one. Refuses what a regular file can't replace.
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
                "it is a device or a pipe, which nothing can be renamed over: give '-' as the \
                 output and redirect standard output to it",
            ));
        }
    }
    refuse_planted(target, "file", &old)?;
    if is_mount_point(target) {
        return Err(invalid(
            "a file system is mounted on it (a bind mount of one file, as containers have), and \
             nothing can be renamed over that: give '-' as the output and redirect standard \
             output to it",
        ));
    }
    match accessat(CWD, target, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Err(errno.into()),
        // A kernel without faccessat2 can't answer for the effective user; then the directory's
        // permission decides alone.
        _ => Ok(Some(old)),
    }
}

/// Whether a file is the root of a mount. A kernel that doesn't say (before 5.8) has the rename
/// fail instead.
pub(crate) fn is_mount_point(file: &Path) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(CWD, file, flags, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    /// A privileged user's sort to a name in such a directory once replaced the file that another
    /// user's link led to, or gave its output to the owner of a file that was there.
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
        for name in [&link, &file] {
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
        // The kernel trusts them in these cases, too.
        set_mode(0o777);
        assert_eq!(find(&second).unwrap(), at("victim"));
        assert_eq!(find(&file).unwrap(), file);
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
        assert_eq!(follow_links(&at(50 - 39)).unwrap(), at(50));
        assert_eq!(follow_links(&at(0)).unwrap_err().raw_os_error(), Some(40));
    }
}
