//! One stat call: what the walk must know of a file, and no more.

use crate::options::{Follow, Options, Time};
use crate::usage::{Timestamp, Usage};
use rustix::fs::{AtFlags, FileType, Statx, StatxAttributes, StatxFlags, makedev, statx};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::AsFd;

/// A file, whatever its names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It holds other files.
    Directory,
    /// It holds bytes.
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

/// What a file is, apart from its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nature {
    pub(crate) identity: Identity,
    pub(crate) kind: Kind,
    pub(crate) has_links: bool,
}

impl Nature {
    pub(crate) fn of_directory(identity: Identity) -> Nature {
        Nature { identity, kind: Kind::Directory, has_links: false }
    }
}

/// What a stat call told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    pub(crate) identity: Identity,
    pub(crate) kind: Kind,
    pub(crate) has_links: bool,
    /// `None`: this kernel doesn't say.
    pub(crate) is_mount: Option<bool>,
    pub(crate) usage: Usage,
}

/// Asks what a walk's options need. The kernel answers a shorter question sooner where an answer
/// comes over a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    mask: StatxFlags,
    time: Option<Time>,
    follow: Follow,
}

/// Never mounts what it looks at.
const FLAGS: AtFlags = AtFlags::NO_AUTOMOUNT;

impl Status {
    pub(crate) fn nature(&self) -> Nature {
        Nature { identity: self.identity, kind: self.kind, has_links: self.has_links }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }
}

impl Question {
    pub(crate) fn new(options: &Options) -> Question {
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
        Question { mask: always | time, time: options.time, follow: options.follow }
    }

    /// Of an argument.
    pub(crate) fn of_argument(&self, path: &CStr) -> Result<Status, Errno> {
        let follow =
            if self.follow == Follow::Never { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
        Ok(self.answer(&statx(rustix::fs::CWD, path, FLAGS | follow, self.mask)?))
    }

    /// Of what has a name in a directory.
    pub(crate) fn of_entry(&self, directory: impl AsFd, name: &CStr) -> Result<Status, Errno> {
        let follow = if self.follow == Follow::Always {
            AtFlags::empty()
        } else {
            AtFlags::SYMLINK_NOFOLLOW
        };
        Ok(self.answer(&statx(directory, name, FLAGS | follow, self.mask)?))
    }

    /// Of what is open.
    pub(crate) fn of_open(&self, file: impl AsFd) -> Result<Status, Errno> {
        Ok(self.answer(&statx(file, c"", FLAGS | AtFlags::EMPTY_PATH, self.mask)?))
    }

    fn answer(&self, statx: &Statx) -> Status {
        let time = self.time.map(|time| match time {
            Time::Accessed => statx.stx_atime,
            Time::Modified => statx.stx_mtime,
            Time::Changed => statx.stx_ctime,
        });
        let kind = Kind::from(FileType::from_raw_mode(statx.stx_mode.into()));
        let is_known = statx.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
        Status {
            identity: Identity {
                device: makedev(statx.stx_dev_major, statx.stx_dev_minor),
                inode: statx.stx_ino,
            },
            kind,
            has_links: kind != Kind::Directory && statx.stx_nlink > 1,
            is_mount: is_known.then(|| statx.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)),
            usage: Usage {
                allocated_bytes: statx.stx_blocks.saturating_mul(512),
                // A size beyond 2^63 - 1 is a negative one: no size at all, as GNU du takes it.
                apparent_bytes: i64::try_from(statx.stx_size).map_or(0, |_| statx.stx_size),
                inodes: 1,
                newest: time
                    .map(|time| Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec }),
            },
        }
    }
}
