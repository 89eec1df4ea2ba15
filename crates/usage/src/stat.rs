//! One stat call, for exactly the data that the walk needs.

use crate::options::{Follow, Options, Time};
use crate::usage::{Timestamp, Usage};
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxAttributes, StatxFlags, makedev, statx};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::AsFd;

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

/// The fields that a walk's options need. A network file system answers sooner if fewer are
/// requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatRequest {
    mask: StatxFlags,
    time: Option<Time>,
    follow: Follow,
}

/// A stat call must not trigger an automount.
const FLAGS: AtFlags = AtFlags::NO_AUTOMOUNT;

impl StatRequest {
    pub(crate) fn new(options: &Options) -> StatRequest {
        let time = match options.time {
            None => StatxFlags::empty(),
            Some(Time::Accessed) => StatxFlags::ATIME,
            Some(Time::Modified) => StatxFlags::MTIME,
            Some(Time::Changed) => StatxFlags::CTIME,
        };
        let always = StatxFlags::TYPE
            | StatxFlags::NLINK
            | StatxFlags::INO
            | StatxFlags::SIZE
            | StatxFlags::BLOCKS;
        StatRequest { mask: always | time, time: options.time, follow: options.follow }
    }

    pub(crate) fn stat_argument(&self, path: &CStr) -> Result<FileStatus, Errno> {
        let follow =
            if self.follow == Follow::Never { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
        Ok(self.status(&statx(CWD, path, FLAGS | follow, self.mask)?))
    }

    pub(crate) fn stat_entry(
        &self,
        directory: impl AsFd,
        name: &CStr,
    ) -> Result<FileStatus, Errno> {
        let follow = if self.follow == Follow::Always {
            AtFlags::empty()
        } else {
            AtFlags::SYMLINK_NOFOLLOW
        };
        Ok(self.status(&statx(directory, name, FLAGS | follow, self.mask)?))
    }

    pub(crate) fn stat_open(&self, file: impl AsFd) -> Result<FileStatus, Errno> {
        Ok(self.status(&statx(file, c"", FLAGS | AtFlags::EMPTY_PATH, self.mask)?))
    }

    fn status(&self, statx: &Statx) -> FileStatus {
        let time = self.time.map(|time| match time {
            Time::Accessed => statx.stx_atime,
            Time::Modified => statx.stx_mtime,
            Time::Changed => statx.stx_ctime,
        });
        let kind = Kind::from(FileType::from_raw_mode(statx.stx_mode.into()));
        let says_mount = statx.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
        FileStatus {
            identity: Identity {
                device: makedev(statx.stx_dev_major, statx.stx_dev_minor),
                inode: statx.stx_ino,
            },
            kind,
            has_links: kind != Kind::Directory && statx.stx_nlink > 1,
            is_mount: says_mount
                .then(|| statx.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)),
            usage: Usage {
                allocated_bytes: statx.stx_blocks.saturating_mul(512),
                // GNU du treats a size above 2^63 - 1 as negative, and counts 0.
                apparent_bytes: i64::try_from(statx.stx_size).map_or(0, |_| statx.stx_size),
                inodes: 1,
                newest: time
                    .map(|time| Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec }),
            },
        }
    }
}
