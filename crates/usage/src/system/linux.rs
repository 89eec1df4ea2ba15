//! Linux: statx(2), getdents64(2), and descriptors that only stand for a place (`O_PATH`).

use crate::options::Time;
use crate::stat::{FileStatus, Identity, Kind};
use crate::usage::{Timestamp, Usage};
use rustix::fs::{
    AtFlags, FileType, OFlags, RawDir, Statx, StatxAttributes, StatxFlags, fstatfs, makedev, statx,
};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

/// Opens a directory only as the beginning of other paths.
pub(crate) const PATH_ONLY: OFlags = OFlags::PATH;

/// A stat call must not trigger an automount.
const FLAGS: AtFlags = AtFlags::NO_AUTOMOUNT;

/// Types of file systems (`statfs`) that another machine or process serves: NFS, CIFS, SMB2, SMB,
/// FUSE, Ceph, 9P, AFS, Lustre, GPFS, Coda, OrangeFS.
const REMOTE: [u32; 12] = [
    0x6969,
    0xff53_4d42,
    0xfe53_4d42,
    0x517b,
    0x6573_5546,
    0x00c3_6400,
    0x0102_1997,
    0x5346_414f,
    0x0bd0_0bd0,
    0x4750_4653,
    0x7375_7245,
    0x2003_0528,
];

/// The fields that a stat call asks for. A network file system answers sooner if fewer are
/// requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    mask: StatxFlags,
    time: Option<Time>,
}

impl Fields {
    pub(crate) fn with_time(time: Option<Time>) -> Fields {
        let time_field = match time {
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
        Fields { mask: always | time_field, time }
    }

    /// Stats a name in a directory.
    pub(crate) fn stat(
        &self,
        directory: impl AsFd,
        name: &CStr,
        follows: bool,
    ) -> Result<FileStatus, Errno> {
        let follow = if follows { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        Ok(self.status(&statx(directory, name, FLAGS | follow, self.mask)?))
    }

    /// Stats an open file.
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

/// Lists an open directory from where an earlier listing stopped.
pub(crate) fn listing<'b>(
    directory: BorrowedFd<'b>,
    buffer: &'b mut [MaybeUninit<u8>],
) -> Result<RawDir<'b, BorrowedFd<'b>>, Errno> {
    Ok(RawDir::new(directory, buffer))
}

/// Returns whether another machine or process serves a directory's file system.
pub(crate) fn is_remote(directory: impl AsFd) -> bool {
    file_system_type(directory).is_some_and(|kind| REMOTE.contains(&kind))
}

/// Returns the type of a directory's file system: 32 bits, whatever the field's width and sign.
pub(crate) fn file_system_type(directory: impl AsFd) -> Option<u32> {
    fstatfs(directory).ok().map(|statfs| statfs.f_type as u32)
}
