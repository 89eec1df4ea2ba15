//! The seal of a spilled block: its checksum, which stays in memory and is not written with the
//! block. So it also detects pages that were never written or were written to another place.

use crate::Error;
use crate::store::scratch::{BlockAddress, Scratch};
use xsort_disk::{Disk, align_up};

/// Size in bytes of the whole pages that hold `records` records.
pub(crate) fn paged_bytes(records: usize, record_bytes: usize) -> usize {
    align_up((records * record_bytes) as u64) as usize
}

/// A block on scratch, or a part of one with its own seal.
#[derive(Clone, Copy)]
pub(crate) struct SealedBlock {
    pub(crate) address: BlockAddress,
    /// Size of its pages in bytes.
    pub(crate) bytes: usize,
    /// XXH3 of its pages.
    pub(crate) seal: u64,
}

/// Clears the pages after their first `used` bytes, and returns the XXH3 of all pages.
pub(crate) fn seal(pages: &mut [u8], used: usize) -> u64 {
    pages[used..].fill(0);
    xxhash_rust::xxh3::xxh3_64(pages)
}

/// Compares pages read from scratch with the seal computed when they were written.
pub(crate) fn check_seal(
    disk: &dyn Disk,
    scratch: &Scratch<'_>,
    address: BlockAddress,
    pages: &[u8],
    seal: u64,
) -> Result<(), Error> {
    let read = xxhash_rust::xxh3::xxh3_64(pages);
    if read == seal {
        return Ok(());
    }
    let what = format!(
        "a scratch block of {} bytes was written with checksum {seal:016x} \
         and read with {read:016x}",
        pages.len()
    );
    Err(Error::corrupt(disk, scratch.file(address.drive), address.offset, what))
}
