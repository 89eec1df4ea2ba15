//! A block of a spilled run on its way to scratch.

use super::run::{Block, Index};
use crate::Error;
use crate::fixed::job::Job;
use crate::store::seal::{paged_bytes, seal};
use crossbeam_channel::Sender;
use xsort_disk::{Completion, Lease};
use xsort_records::Key;

/// Seals a block of `records` sorted records, adds it to the index, and starts its write, for a
/// part of the job.
pub(super) fn write_block<K: Key>(
    job: &Job<'_, K>,
    mut block: Lease,
    records: usize,
    index: &mut Index,
    part: usize,
    written: &Sender<Completion>,
) -> Result<(), Error> {
    let bytes = paged_bytes(records, job.record_bytes);
    let checksum = seal(&mut block[..bytes], records * job.record_bytes);
    let place = job.scratch().allocate(bytes as u64)?;
    index.push(Block { place, records: records as u32, checksum }, |out| {
        job.key.encode(&block[..job.record_bytes], out);
    });
    job.submit(job.scratch().write(place, bytes, block, part, written));
    Ok(())
}
