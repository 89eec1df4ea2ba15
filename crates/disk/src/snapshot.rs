//! A file's identity, size and time, to find out later whether it has changed.

use rustix::fs::Stat;

/// A file's identity, size and time at one moment. As long as they don't change, its bytes haven't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    bytes: i64,
    modified: (i64, u64),
}

/// Returns when a file's bytes were last changed: seconds since 1970, and nanoseconds.
#[allow(
    clippy::unnecessary_cast,
    reason = "C says that these are signed, the kernel that they are not"
)]
pub(crate) fn modified(stat: &Stat) -> (i64, u64) {
    (stat.st_mtime as i64, stat.st_mtime_nsec as u64)
}

impl From<&Stat> for Snapshot {
    #[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
    fn from(stat: &Stat) -> Snapshot {
        Snapshot {
            device: stat.st_dev as u64,
            inode: stat.st_ino,
            bytes: stat.st_size,
            modified: modified(stat),
        }
    }
}

impl Snapshot {
    /// Returns how the file has changed since this snapshot, if its bytes may have changed.
    pub(crate) fn changed_to(&self, now: &Snapshot) -> Option<String> {
        let (before, after) = (self.bytes, now.bytes);
        let what = if before != after {
            format!("it had {before} bytes when it was opened and has {after} now")
        } else if self.modified != now.modified {
            "it was written to since it was opened".to_owned()
        } else {
            return None;
        };
        Some(format!(
            "{what}: what was read of it may be neither; run again when nobody writes to it"
        ))
    }
}
