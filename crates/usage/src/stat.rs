//! What a stat call tells of a file.

use crate::usage::Usage;
use rustix::fs::FileType;

/// The identity of a file, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    Regular,
    /// A symbolic link that was not followed.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Kind {
        match file_type {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => Kind::Regular,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        }
    }
}

/// A file's properties apart from its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileInfo {
    pub(crate) identity: Identity,
    pub(crate) kind: Kind,
    /// Whether it has several names; always false for directories.
    pub(crate) has_links: bool,
}

impl FileInfo {
    pub(crate) fn of_directory(identity: Identity) -> FileInfo {
        FileInfo { identity, kind: Kind::Directory, has_links: false }
    }
}

/// The result of a stat call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileStatus {
    pub(crate) identity: Identity,
    pub(crate) kind: Kind,
    pub(crate) has_links: bool,
    /// Whether it is the root of a mount; `None` if the kernel doesn't tell.
    pub(crate) is_mount: Option<bool>,
    pub(crate) usage: Usage,
}

impl FileStatus {
    pub(crate) fn info(&self) -> FileInfo {
        FileInfo { identity: self.identity, kind: self.kind, has_links: self.has_links }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }
}
