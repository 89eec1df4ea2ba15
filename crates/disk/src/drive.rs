//! The file system that holds a path: its type, its free space, and whether it is in memory.
//!
//! It doesn't measure speed: the callers that plan with the speed measure it.

use crate::system::{OVERWRITING, kind};
use crate::{Drive, Error, Operation, place};
use rustix::fs::{Dev, StatFs, StatVfs, major, minor, stat, statfs, statvfs};
use rustix::io::Errno;
use std::fs::canonicalize;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Returns the drive that holds `path`, or its parent directory if `path` doesn't exist.
pub(crate) fn of_path(path: &Path) -> Result<Drive, Error> {
    place::refuse_url(Operation::Inspect, path)?;
    let inspect = |path: &Path| -> Result<Drive, Errno> {
        Ok(drive(stat(path)?.st_dev as u64, &statfs(path)?, &statvfs(path)?))
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
    let number = id as Dev;
    let numbers = format!("{}:{}", major(number), minor(number));
    let block = canonicalize(format!("/sys/dev/block/{numbers}"));
    match block.as_deref().ok().and_then(Path::file_name) {
        Some(name) => format!("{}, {numbers}", name.display()),
        None => numbers,
    }
}

fn drive(id: u64, stat: &StatFs, space: &StatVfs) -> Drive {
    let (kind, is_memory) = kind(stat);
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let overwrites = OVERWRITING.contains(&&*kind);
    Drive { id, free_bytes, is_memory, overwrites, limit_bytes_per_second: None, kind }
}
