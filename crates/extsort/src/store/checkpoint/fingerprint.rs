//! The fingerprint by which a resumed sort recognizes an input: its size, the time of its last
//! change, and a sample of its content.
//!
//! Not its inode or device number, which a restored or remounted file system gives anew.

use crate::Error;
use crate::store::transfer::transfer;
use serde::{Deserialize, Serialize};
use xsort_disk::{ALIGNMENT, Direction, Disk, FileId, FileIdentity, Lease, align_down};
use xxhash_rust::xxh3::Xxh3;

/// Most pages that are sampled: the first one, the last one, and pages between.
const PAGES_MAX: u64 = 16;
/// A file has one sampled page more for every so many bytes.
const BYTES_PER_PAGE: u64 = 1 << 20;

/// What an input was when it was read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct InputFingerprint {
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// The time of its last change: seconds since 1970, and nanoseconds.
    modified: (i64, u64),
    /// What a store calls its content, as a number; 0 for files.
    content: u64,
    /// XXH3 of the sampled pages.
    sample: u64,
}

impl InputFingerprint {
    /// Takes the fingerprint of an input of `bytes` bytes.
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

    /// Whether it is that of the same content, as far as one can tell, under whatever path.
    pub(crate) fn matches(&self, other: &InputFingerprint) -> bool {
        let all = |it: &InputFingerprint| (it.bytes, it.modified, it.content, it.sample);
        all(self) == all(other)
    }
}
