//! Whose files are trusted. A file's owner can change it and shorten it at any time, so both sides
//! check the owner. They check the open file, since its name may lead to another file by then.

use crate::error::{Error, Result};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whose files a reader trusts. The writer's user owns the files, and a file's owner can change it
/// and shorten it at any time, whatever its mode says now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// Files of this process's user and of root, if no other user may write to them.
    #[default]
    Own,
    /// Also files of this user, as which the writer runs.
    User(u32),
    /// All files, whatever their owner and mode: for a directory in which only trusted users can
    /// create files.
    Anyone,
}

impl Owner {
    pub(crate) fn check_user(self, path: &Path, metadata: &Metadata) -> Result<()> {
        let user = metadata.uid();
        let is_trusted =
            self == Owner::Anyone || self == Owner::User(user) || user == 0 || user == own_user();
        let remedy = "a reader believes its own user and root; if the writer runs as this one, \
                      name it in ReaderOptions::owner";
        if is_trusted { Ok(()) } else { Err(wrong_owner(path, user, remedy)) }
    }

    pub(crate) fn check_mode(self, path: &Path, metadata: &Metadata) -> Result<()> {
        if self == Owner::Anyone || others_write(metadata) == 0 {
            return Ok(());
        }
        Err(Error::Foreign { path: path.to_owned(), what: "others than its owner may write to it" })
    }
}

pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the owner of the file of that name, if it is another user.
pub(crate) fn other_user(path: &Path) -> Option<u32> {
    let user = fs::symlink_metadata(path).ok()?.uid();
    (user != own_user()).then_some(user)
}

/// Returns a writer's error for a file that the system refused: [`Error::WrongOwner`] if that is
/// the reason.
pub(crate) fn refused(operation: &'static str, path: &Path, error: io::Error) -> Error {
    match other_user(path) {
        Some(user) if error.kind() == io::ErrorKind::PermissionDenied => {
            wrong_owner(path, user, NOT_TAKEN_OVER)
        }
        _ => Error::io(operation, path)(error),
    }
}

pub(crate) const NOT_TAKEN_OVER: &str =
    "a writer takes over only files of its own user; remove it, or choose another path";

pub(crate) fn wrong_owner(path: &Path, owner: u32, remedy: &'static str) -> Error {
    Error::WrongOwner { path: path.to_owned(), owner, remedy }
}

/// The mode bits that let users other than the owner write.
pub(crate) const WRITE_BY_OTHERS: u32 = 0o022;

/// Returns the [`WRITE_BY_OTHERS`] bits of an open file's mode.
pub(crate) fn others_write(metadata: &Metadata) -> u32 {
    metadata.mode() & WRITE_BY_OTHERS
}
