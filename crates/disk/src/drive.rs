//! The file system that holds a path: its type, its free space, and whether it is in memory.
//!
//! It doesn't measure speed: the callers that plan with the speed measure it.

use crate::{Drive, Error, Operation, place};
use rustix::fs::{StatFs, StatVfs, major, minor, stat, statfs, statvfs};
use rustix::io::Errno;
use std::fs::canonicalize;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Magic numbers of statfs(2), from linux/magic.h and the file systems' own headers.
const KINDS: &[(u64, &str)] = &[
    (0xef53, EXT4),
    (0x5846_5342, XFS),
    (0x9123_683e, "btrfs"),
    (0x0102_1994, TMPFS),
    (0x8584_58f6, RAMFS),
    (0x9584_58f6, "hugetlbfs"),
    (0x794c_7630, "overlay"),
    (0x6969, "nfs"),
    (0x6573_5546, FUSE),
    (0x2fc1_2fc1, "zfs"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x0102_1997, "9p"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb"),
    (0x00c3_6400, "ceph"),
    (0x4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x7366_746e, "ntfs3"),
    (0x7371_7368, "squashfs"),
    (0xe0f5_e1e2, "erofs"),
    (0xf15f, "ecryptfs"),
    (0x3434, "nilfs"),
    (0x3153_464a, "jfs"),
    (0x0116_1970, "gfs2"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
];
const EXT4: &str = "ext4";
const XFS: &str = "xfs";
const TMPFS: &str = "tmpfs";
/// All file systems in user space share this type.
pub(crate) const FUSE: &str = "fuse";
const RAMFS: &str = "ramfs";

/// Returns the drive that holds `path`, or its parent directory if `path` doesn't exist.
pub(crate) fn of_path(path: &Path) -> Result<Drive, Error> {
    place::refuse_url(Operation::Inspect, path)?;
    let inspect = |path: &Path| -> Result<Drive, Errno> {
        Ok(drive(stat(path)?.st_dev, &statfs(path)?, &statvfs(path)?))
    };
    match inspect(path) {
        Err(Errno::NOENT) => inspect(&parent_directory(path)),
        found => found,
    }
    .map_err(Operation::Inspect.failed_on(path))
}

/// Returns a path's directory in a form that can be opened: `.` for a bare name.
pub fn parent_directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) => PathBuf::from("."),
        None => path.to_owned(),
    }
}

/// Returns the name of the file system that holds an open file, and whether it is in memory.
pub(crate) fn kind_of(file: impl AsFd) -> Result<(String, bool), Errno> {
    rustix::fs::fstatfs(file).map(|stat| kind(&stat))
}

/// Returns the system's name for the device with this [`Drive::id`]: `nvme0n1p2, 259:2`. Only the
/// numbers if it is no block device (tmpfs, btrfs, NFS).
pub fn device_name(id: u64) -> String {
    let numbers = format!("{}:{}", major(id), minor(id));
    let block = canonicalize(format!("/sys/dev/block/{numbers}"));
    match block.as_deref().ok().and_then(Path::file_name) {
        Some(name) => format!("{}, {numbers}", name.display()),
        None => numbers,
    }
}

fn drive(id: u64, stat: &StatFs, space: &StatVfs) -> Drive {
    let (kind, is_memory) = kind(stat);
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    // Other file systems copy on write, or fill the gap in front of a block written out of order.
    let overwrites = [EXT4, XFS, TMPFS].contains(&&*kind);
    Drive { id, free_bytes, is_memory, overwrites, limit_bytes_per_second: None, kind }
}

fn kind(stat: &StatFs) -> (String, bool) {
    // The field's width differs by architecture; magic numbers have 32 bits.
    let magic = stat.f_type as u64 & 0xffff_ffff;
    match KINDS.iter().find(|(known, _)| *known == magic) {
        Some(&(_, name)) => (name.to_owned(), name == TMPFS || name == RAMFS),
        None => (format!("{magic:#x}"), false),
    }
}
