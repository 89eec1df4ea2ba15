//! A new file that appears complete or not at all, for callers that write it themselves.
//!
//! ```text
//!  NewFile::create(path) ---> file() <--- the caller writes ---> publish: in place of the old one
//!        |                                    \--> dropped: gone, the old one as it was
//!        `--> Obstacle: a new file can't take the old one's place without a loss
//! ```
//!
//! It goes through the same steps as an output of a [`Disk`](crate::Disk), but needs no disk: a
//! small file costs a few system calls.

use crate::attributes::LostOwner;
use crate::drive::parent_directory;
use crate::output::{PendingOutput, create_at};
use crate::output_place::{Followed, OutputPlace, refuse_unremovable};
use crate::place::refuse_url;
use crate::{Error, Operation};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file that appears under its name once it is published. If it is dropped earlier, it is
/// removed.
#[derive(Debug)]
pub struct NewFile {
    // The first field, so that the hidden name is removed before the descriptor is closed.
    pending: PendingOutput,
    file: File,
}

/// The result of [`NewFile::create`].
#[derive(Debug)]
pub enum Creation {
    /// The new file, empty.
    Created(NewFile),
    /// No file was created: there is an old file, which can only be rewritten in place.
    Obstructed(Obstacle),
}

/// The reason why a new file can't take the place of an old one, or not without a loss.
#[derive(Debug)]
pub enum Obstacle {
    /// The old file has this number of names; the others would keep the old content.
    HardLinks(u64),
    /// The old file belongs to this user and group, to which a new file would not belong.
    Owner(u32, u32),
    /// A file system is mounted on the old file.
    MountPoint,
    /// The kernel's name for an open file, such as `/dev/stdout`.
    OpenFile,
    /// No file can be created in this directory.
    Directory(PathBuf, Errno),
}

impl fmt::Display for Obstacle {
    /// Writes the rest of a sentence that begins with \"because\".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::HardLinks(names) => write!(f, "it has {names} names (hard links)"),
            Obstacle::Owner(user, group) => {
                write!(f, "a new file would not belong to user {user} and group {group}")
            }
            Obstacle::MountPoint => f.write_str("a file system is mounted on it"),
            Obstacle::OpenFile => f.write_str("its name stands for an open file"),
            Obstacle::Directory(directory, errno) => {
                let directory = crate::DisplayPath(directory);
                write!(f, "no new file can be made in {directory} ({errno})")
            }
        }
    }
}

impl NewFile {
    /// Creates the file that will appear at `path`, nameless if the file system supports that.
    /// Symbolic links are followed. The new file gets the mode, owner, access control list and
    /// extended attributes of the old one. With `no_clobber` an old file is an error.
    ///
    /// # Errors
    /// If the output can't appear there and can't be written in place either.
    pub fn create(path: &Path, no_clobber: bool) -> Result<Creation, Error> {
        refuse_url(Operation::Create, path)?;
        let followed = Followed::new(path)?;
        let obstacle =
            known_obstacle(&followed, no_clobber).map_err(Operation::Create.failed_on(path))?;
        if let Some(obstacle) = obstacle {
            return Ok(Creation::Obstructed(obstacle));
        }
        let place = OutputPlace::at(path, followed, no_clobber)?;
        place.refuse_old()?;
        let is_replacing = place.old.is_some();
        let (fd, hidden) = match create_at(&place) {
            Ok(made) => made,
            Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) if is_replacing => {
                let directory = parent_directory(&place.followed);
                return Ok(Creation::Obstructed(Obstacle::Directory(directory, errno)));
            }
            Err(errno) => return Err(Error::new(Operation::Create, path, errno)),
        };
        let (fd, pending) = PendingOutput::begin(place, fd, hidden, false)?;
        Ok(match pending.lost_owner() {
            Some(LostOwner { old: (user, group), .. }) => {
                Creation::Obstructed(Obstacle::Owner(user, group))
            }
            None => Creation::Created(NewFile { pending, file: File::from(fd) }),
        })
    }

    /// Creates the file that is to appear at `path`, where there must be none. Only this user may
    /// read it, and can remove it later.
    ///
    /// # Errors
    /// If the file can't appear there, or couldn't be removed.
    pub fn create_private(path: &Path) -> Result<NewFile, Error> {
        refuse_unremovable(path).map_err(Operation::Create.failed_on(path))?;
        let mut place = OutputPlace::find(path, true)?;
        place.refuse_old()?;
        place.mode = Mode::RUSR | Mode::WUSR;
        let (fd, hidden) = create_at(&place).map_err(Operation::Create.failed_on(path))?;
        let (fd, pending) = PendingOutput::begin(place, fd, hidden, false)?;
        Ok(NewFile { pending, file: File::from(fd) })
    }

    /// The open file, to be written and read.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns whether the file has a hidden name now. A process that is being killed must remove
    /// it ([`abandon_outputs`](crate::abandon_outputs)).
    pub fn has_hidden_name(&self) -> bool {
        self.pending.has_hidden_name()
    }

    /// Puts the file in place with its current length. With `sync`, first makes the content
    /// durable, and afterwards the name.
    ///
    /// # Errors
    /// If it can't be put in place. The old file is then still there, except after
    /// [`Operation::SyncName`].
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        let NewFile { pending, file } = self;
        let bytes = file.metadata().map_err(|error| pending.failed(Operation::Inspect, error))?;
        pending.publish(file.as_fd(), bytes.len(), sync)
    }
}

/// Opens the file at `path` for writing without truncating it, or creates it. Symbolic links are
/// followed, except links that belong to another user in a directory shared by all users. With
/// `reads` the file can also be read, if this user may do that.
///
/// # Errors
/// If it can't be opened, or if another user planted it or a link on the way to it.
pub fn open_in_place(path: &Path, reads: bool) -> Result<File, Error> {
    let fail = |source: io::Error| Error::new(Operation::Open, path, source);
    let open = |directory: BorrowedFd<'_>, name: &OsStr, flags: OFlags| {
        let open = |access| {
            let flags = flags | access | OFlags::CREATE | OFlags::CLOEXEC;
            openat(directory, name, flags, Mode::from_raw_mode(0o666))
        };
        match open(if reads { OFlags::RDWR } else { OFlags::WRONLY }) {
            Err(Errno::ACCESS) if reads => open(OFlags::WRONLY),
            opened => opened,
        }
    };
    let is_name = path.file_name().is_some() && !path.as_os_str().as_bytes().ends_with(b"/");
    let opened = if is_name {
        let followed = Followed::new(path)?;
        followed.refuse_planted_file().map_err(fail)?;
        if reads && !followed.is_open_file {
            followed.refuse_append_only().map_err(fail)?;
        }
        let flags = if followed.is_open_file { OFlags::empty() } else { OFlags::NOFOLLOW };
        let opened = open(followed.directory.as_fd(), &followed.name, flags);
        if let Ok(file) = &opened {
            followed.refuse_planted_meanwhile(file).map_err(fail)?;
        }
        opened
    } else {
        // A directory, or an empty path: the kernel says what is wrong with it.
        open(CWD, path.as_os_str(), OFlags::empty())
    };
    opened.map(File::from).map_err(|errno| fail(errno.into()))
}

/// Returns an obstacle that is visible before anything is created. Fails if another user planted
/// the file.
fn known_obstacle(followed: &Followed, no_clobber: bool) -> io::Result<Option<Obstacle>> {
    if followed.is_open_file {
        return Ok(Some(Obstacle::OpenFile));
    }
    let is_file = |old: &Stat| FileType::from_raw_mode(old.st_mode) == FileType::RegularFile;
    let Some(old) = followed.found.filter(is_file).filter(|_| !no_clobber) else {
        return Ok(None);
    };
    followed.refuse_planted_file()?;
    if old.st_nlink > 1 {
        #[allow(clippy::useless_conversion, reason = "the field's width differs by architecture")]
        return Ok(Some(Obstacle::HardLinks(u64::from(old.st_nlink))));
    }
    Ok(followed.is_mount_point().then_some(Obstacle::MountPoint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn created(path: &Path) -> NewFile {
        match NewFile::create(path, false).unwrap() {
            Creation::Created(file) => file,
            Creation::Obstructed(obstacle) => panic!("{obstacle}"),
        }
    }

    fn obstacle(path: &Path) -> Obstacle {
        match NewFile::create(path, false).unwrap() {
            Creation::Created(_) => panic!("{} can be replaced", path.display()),
            Creation::Obstructed(obstacle) => obstacle,
        }
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_published() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("out"), directory.path().join("link"));
        std::os::unix::fs::symlink("out", &link).unwrap();
        for text in ["first", "second"] {
            let before = fs::read(&path).ok();
            let new = created(&link);
            new.file().write_all(b"given up").unwrap();
            drop(new);
            let new = created(&link);
            new.file().write_all(text.as_bytes()).unwrap();
            assert_eq!(fs::read(&path).ok(), before);
            new.publish(true).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        let error = NewFile::create(&path, true).unwrap_err();
        assert!(error.to_string().contains("--no-clobber"), "{error}");
    }

    #[test]
    fn obstacles_are_named_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("out"), directory.path().join("other"));
        fs::write(&path, "old").unwrap();
        fs::hard_link(&path, &other).unwrap();
        assert_eq!(obstacle(&path).to_string(), "it has 2 names (hard links)");
        fs::remove_file(&other).unwrap();
        // The text of such a link is the path of the file.
        let file = File::open(&path).unwrap();
        let link = crate::nameless::proc_path(file.as_fd());
        assert!(matches!(obstacle(Path::new(&link)), Obstacle::OpenFile));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
