//! Whose files are trusted. The owner of a file can change it and cut it at any time, so both sides
//! ask who that is: of the open file, since a name may lead to another one by then.

use crate::error::{Error, Result};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whose files a reader trusts. The writer's user owns the files, and a file's owner can change it
/// and cut it at any time, whatever its mode says now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// Those of this process's user and of root, if nobody else may write to them.
    #[default]
    Own,
    /// Those of this user as well: the one that the writer runs as.
    User(u32),
    /// Anybody's, whoever may write to them: for a directory in which only trusted users can create
    /// files.
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

/// The owner of the file of that name, if it is another user.
pub(crate) fn other_user(path: &Path) -> Option<u32> {
    let user = fs::symlink_metadata(path).ok()?.uid();
    (user != own_user()).then_some(user)
}

/// The error of a writer to whom the system refused a file: that it has the wrong owner, if that is
/// why.
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

/// The bits of a mode that let users other than the owner write.
pub(crate) const WRITE_BY_OTHERS: u32 = 0o022;

/// These bits of an open file.
pub(crate) fn others_write(metadata: &Metadata) -> u32 {
    metadata.mode() & WRITE_BY_OTHERS
}
