//! The seal of what goes to scratch: its checksum, kept in memory, so that pages that were not
//! written at all, or to another place, are noticed too.

use crate::Error;
use crate::store::scratch::{Place, Scratch};
use xsort_disk::{Disk, align_up};

/// Bytes of the pages that hold so many records.
pub(crate) fn paged_bytes(records: usize, record_bytes: usize) -> usize {
    align_up((records * record_bytes) as u64) as usize
}

/// Clears what lies behind the `used` bytes of some pages, and returns the XXH3 of the pages.
pub(crate) fn seal(pages: &mut [u8], used: usize) -> u64 {
    pages[used..].fill(0);
    xxhash_rust::xxh3::xxh3_64(pages)
}

/// Compares pages that came back from scratch with the seal that was remembered of them.
pub(crate) fn check_seal(
    disk: &dyn Disk,
    scratch: &Scratch<'_>,
    place: Place,
    pages: &[u8],
    seal: u64,
) -> Result<(), Error> {
    let read = xxhash_rust::xxh3::xxh3_64(pages);
    if read == seal {
        return Ok(());
    }
    let what = format!(
        "a scratch block of {} bytes was written with checksum {seal:016x} and read with {read:016x}",
        pages.len()
    );
    Err(Error::corrupt(disk, scratch.file(place.drive), place.offset, what))
}
