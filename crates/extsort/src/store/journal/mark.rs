//! By what an input is known again: its size, the time of its last change, and a sample of its
//! content.
//!
//! Not by its number or device, which a restored or remounted file system gives anew.

use super::transfer::transfer;
use crate::Error;
use serde::{Deserialize, Serialize};
use xsort_disk::{ALIGNMENT, Direction, Disk, FileId, Lease, align_down};
use xxhash_rust::xxh3::Xxh3;

/// Places of a file that are looked at: its first and last page, and pages between these. Fewer of
/// a small file.
const PLACES: u64 = 16;
/// One place more for each so many bytes.
const BYTES_A_PLACE: u64 = 1 << 20;

/// What an input was.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct InputMark {
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// When it was changed last: seconds since 1970, and nanoseconds.
    modified: (i64, u64),
    /// XXH3 of a few pages.
    sample: u64,
}

impl InputMark {
    /// Whether it is the same file, for all that can be told, under whatever path.
    pub(crate) fn is_as(&self, other: &InputMark) -> bool {
        (self.bytes, self.modified, self.sample) == (other.bytes, other.modified, other.sample)
    }
}

/// Looks at an input of `bytes` bytes.
pub(crate) fn mark(disk: &dyn Disk, file: FileId, bytes: u64) -> Result<InputMark, Error> {
    let modified = disk.identity(file)?.modified;
    let mut hash = Xxh3::new();
    let mut lease = Lease::map(ALIGNMENT)?;
    let places = (1 + bytes / BYTES_A_PLACE).min(PLACES);
    for place in 0..places {
        if bytes == 0 {
            break;
        }
        let offset = align_down((bytes - 1) * place / (places - 1).max(1));
        let needed = (bytes - offset).min(ALIGNMENT as u64) as usize;
        lease = transfer(disk, file, Direction::Read, offset, ALIGNMENT, needed, lease)?;
        hash.update(&lease[..needed]);
    }
    Ok(InputMark { bytes, modified, sample: hash.digest() })
}
