//! Blocks of spilled runs: sealing one, and checking it when it comes back.

use super::job::Job;
use super::run::{Block, Index};
use super::scratch::Scratch;
use crate::Error;
use crossbeam_channel::Sender;
use xsort_disk::{Completion, Direction, Lease, Request, align_up};
use xsort_records::Key;

/// Bytes of a block's pages that hold its records.
pub(crate) fn paged_bytes(records: usize, record_bytes: usize) -> usize {
    align_up((records * record_bytes) as u64) as usize
}

/// Seals a block of `records` sorted records, adds it to the index, and starts its write.
pub(crate) fn write_block<K: Key>(
    job: &Job<'_, K>,
    scratch: &Scratch<'_>,
    mut block: Lease,
    records: usize,
    index: &mut Index,
    written: &Sender<Completion>,
) -> Result<(), Error> {
    let used = records * job.record_bytes;
    let bytes = paged_bytes(records, job.record_bytes);
    block[used..bytes].fill(0);
    let checksum = xxhash_rust::xxh3::xxh3_64(&block[..bytes]);
    let place = scratch.place(bytes as u64)?;
    index.push(Block { place, records: records as u32, checksum }, |out| {
        job.key.encode(&block[..job.record_bytes], out);
    });
    job.submit(Request {
        direction: Direction::Write,
        file: scratch.file(place.drive),
        offset: place.offset,
        bytes,
        bytes_needed: bytes,
        lease: block,
        tag: u64::from(place.drive),
        reply: written.clone(),
    });
    Ok(())
}

/// Compares a block that came back from scratch with what was remembered of it.
pub(crate) fn check_block<K>(
    job: &Job<'_, K>,
    scratch: &Scratch<'_>,
    block: &Block,
    lease: &Lease,
) -> Result<(), Error> {
    let bytes = paged_bytes(block.records as usize, job.record_bytes);
    let checksum = xxhash_rust::xxh3::xxh3_64(&lease[..bytes]);
    if checksum == block.checksum {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: job.disk.path(scratch.file(block.place.drive)),
        offset: block.place.offset,
        what: format!(
            "a scratch block of {bytes} bytes was written with checksum {:016x} and read with {checksum:016x}",
            block.checksum
        ),
    })
}
