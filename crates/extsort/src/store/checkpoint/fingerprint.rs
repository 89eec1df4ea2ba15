//! The fingerprint by which a resumed sort recognizes an input: its size, the time of its last
//! change, and a sample of its content.
//!
//! The inode and device numbers are not part of it: a file system that is restored or remounted
//! assigns new ones.

use crate::Error;
use crate::store::transfer::transfer;
use serde::{Deserialize, Serialize};
use xsort_disk::{ALIGNMENT, Direction, Disk, FileId, FileIdentity, Lease, align_down};
use xxhash_rust::xxh3::Xxh3;

/// Maximum number of sampled pages: the first, the last, and pages between.
const PAGES_MAX: u64 = 16;
/// The number of sampled pages grows by one for each `BYTES_PER_PAGE` bytes of the file.
const BYTES_PER_PAGE: u64 = 1 << 20;

/// The state of an input when it was read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct InputFingerprint {
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Time of the last change: seconds since 1970, and nanoseconds.
    modified: (i64, u64),
    /// The store's tag of the content, as a number; 0 for files.
    content: u64,
    /// XXH3 of the sampled pages.
    sample: u64,
}

impl InputFingerprint {
    /// Computes the fingerprint of an input of `bytes` bytes.
    pub(crate) fn take(disk: &dyn Disk, file: FileId, bytes: u64) -> Result<Self, Error> {
        let FileIdentity { modified, content, .. } = disk.identity(file)?;
        let mut hash = Xxh3::new();
        let mut lease = Lease::map(ALIGNMENT)?;
        let pages = if bytes == 0 { 0 } else { (1 + bytes / BYTES_PER_PAGE).min(PAGES_MAX) };
        for page in 0..pages {
            let offset = align_down((bytes - 1) * page / (pages - 1).max(1));
            let page_bytes = (bytes - offset).min(ALIGNMENT as u64) as usize;
            lease = transfer(disk, file, Direction::Read, offset, page_bytes, lease)?;
            hash.update(&lease[..page_bytes]);
        }
        Ok(InputFingerprint { bytes, modified, content, sample: hash.digest() })
    }

    /// True if both fingerprints are of the same content, as far as they can tell. Paths are
    /// ignored.
    pub(crate) fn matches(&self, other: &InputFingerprint) -> bool {
        let all = |it: &InputFingerprint| (it.bytes, it.modified, it.content, it.sample);
        all(self) == all(other)
    }
}
