//! Other systems, of which macOS is built and not yet run: fstatat(2) and readdir(3).

use crate::options::Time;
use crate::stat::{FileStatus, Identity, Kind};
use crate::usage::{Timestamp, Usage};
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, OFlags, Stat, fstat, fstatfs, statat};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

/// Opens a directory only as the beginning of other paths: POSIX has nothing for that.
pub(crate) const PATH_ONLY: OFlags = OFlags::empty();

/// The fields that a stat call is for. The system always returns all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    time: Option<Time>,
}

impl Fields {
    pub(crate) fn with_time(time: Option<Time>) -> Fields {
        Fields { time }
    }

    /// Stats a name in a directory.
    pub(crate) fn stat(
        &self,
        directory: impl AsFd,
        name: &CStr,
        follows: bool,
    ) -> Result<FileStatus, Errno> {
        let follow = if follows { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        Ok(self.status(&statat(directory, name, follow)?))
    }

    /// Stats an open file.
    pub(crate) fn stat_open(&self, file: impl AsFd) -> Result<FileStatus, Errno> {
        Ok(self.status(&fstat(file)?))
    }

    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
    fn status(&self, stat: &Stat) -> FileStatus {
        let time = self.time.map(|time| match time {
            Time::Accessed => (stat.st_atime as i64, stat.st_atime_nsec as u32),
            Time::Modified => (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            Time::Changed => (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
        });
        let kind = Kind::from(FileType::from_raw_mode(stat.st_mode as _));
        FileStatus {
            identity: Identity { device: stat.st_dev as u64, inode: stat.st_ino as u64 },
            kind,
            has_links: kind != Kind::Directory && stat.st_nlink > 1,
            is_mount: None,
            usage: Usage {
                allocated_bytes: (stat.st_blocks as u64).saturating_mul(512),
                // GNU du counts 0 for a negative size.
                apparent_bytes: u64::try_from(stat.st_size).unwrap_or(0),
                inodes: 1,
                newest: time.map(|(seconds, nanoseconds)| Timestamp { seconds, nanoseconds }),
            },
        }
    }
}

/// The entries of a directory, in a stream of the C library's.
pub(crate) struct Listing(Dir);

impl Listing {
    pub(crate) fn next(&mut self) -> Option<Result<DirEntry, Errno>> {
        self.0.next()
    }

    /// Always false, so that a listing goes on to its end: its position is the stream's, which a
    /// later listing of the same directory would not have.
    pub(crate) fn is_buffer_empty(&self) -> bool {
        false
    }
}

/// Lists an open directory from its beginning.
pub(crate) fn listing(
    directory: BorrowedFd<'_>,
    _: &mut [MaybeUninit<u8>],
) -> Result<Listing, Errno> {
    Dir::read_from(directory).map(Listing)
}

/// Returns whether another machine serves a directory's file system (`MNT_LOCAL` of statfs(2)).
#[cfg(target_vendor = "apple")]
pub(crate) fn is_remote(directory: impl AsFd) -> bool {
    /// The value in macOS's sys/mount.h.
    const MNT_LOCAL: u32 = 0x1000;
    fstatfs(directory).is_ok_and(|system| system.f_flags & MNT_LOCAL == 0)
}

/// Returns whether another machine serves a directory's file system: false, as nothing tells.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn is_remote(_: impl AsFd) -> bool {
    false
}

/// Returns the type of a directory's file system, whose values only Linux defines.
#[allow(clippy::unnecessary_cast, reason = "the field's type differs between systems")]
pub(crate) fn file_system_type(directory: impl AsFd) -> Option<u32> {
    fstatfs(directory).ok().map(|statfs| statfs.f_type as u32)
}
