//! One transfer at a time, waited for: for the few pages of a journal.

use crate::Error;
use crossbeam_channel::bounded;
use xsort_disk::{Direction, Disk, FileId, Lease, Request};

/// Moves the first `bytes` bytes of a lease, of which the file has to have `bytes_needed`, and
/// waits.
pub(super) fn transfer(
    disk: &dyn Disk,
    file: FileId,
    direction: Direction,
    offset: u64,
    bytes: usize,
    bytes_needed: usize,
    lease: Lease,
) -> Result<Lease, Error> {
    let (reply, completed) = bounded(1);
    disk.submit(Request { direction, file, offset, bytes, bytes_needed, lease, tag: 0, reply });
    let completion = completed.recv().expect("a disk completes every request");
    completion.result?;
    Ok(completion.lease)
}
