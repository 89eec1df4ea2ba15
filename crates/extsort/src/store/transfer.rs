//! One blocking transfer: for the few pages of a journal or a fingerprint.

use crate::Error;
use crossbeam_channel::bounded;
use xsort_disk::{Direction, Disk, FileId, Lease, Request, align_up};

/// Moves `bytes` bytes, rounded up to whole pages, between the beginning of a lease and a file, and
/// waits. For a read, the file must have these `bytes`.
pub(super) fn transfer(
    disk: &dyn Disk,
    file: FileId,
    direction: Direction,
    offset: u64,
    bytes: usize,
    lease: Lease,
) -> Result<Lease, Error> {
    let (reply, completed) = bounded(1);
    disk.submit(Request {
        direction,
        file,
        offset,
        bytes: align_up(bytes as u64) as usize,
        bytes_needed: bytes,
        lease,
        tag: 0,
        reply,
    });
    let completion = completed.recv().expect("a disk completes every request");
    completion.result?;
    Ok(completion.lease)
}
