//! Bins in the output's own file, which the sorted output overwrites.
//!
//! ```text
//!  scattered          |lead|  bin 0  |  bin 1  |  bin 2  |  bin 3  |
//!  bin 2 was read     |  bin 0  |  bin 1  |  bin 2  |    |  bin 3  |
//!  and is written     '------ sorted ---->|  - - - >|
//! ```
//!
//! A sample predicts the size of each bin, and so the position of its records in the output. The
//! bin's blocks are written near this position, a little after it. Bins are gathered in order, and
//! each is in memory before the output overwrites it. So a sort needs little more space than its
//! output, and the file system neither allocates a second set of blocks nor frees one. On a virtual
//! drive that allocates its own blocks at their first write, allocating takes twice as long as
//! overwriting (docs/experiments/2026-11-27-in-place.md).
//!
//! If the sample is wrong, or a block found no place near its own, a piece may lie where an earlier
//! bin will be written. [`clear_the_way`] finds and moves every such piece before the gathering
//! starts.

use super::gather::starts;
use super::load::Load;
use crate::Error;
use crate::records::job::SortJob;
use crate::records::memory::Memory;
use crate::store::ordered_reads::FileRange;
use crate::store::scratch::BlockAddress;
use crate::store::seal::check_seal;
use crossbeam_channel::bounded;
use xsort_disk::{Lease, align_up};

/// Number of reads in flight while pieces are moved.
const READS: usize = 8;

/// Moves each piece that lies where an earlier load will be written.
pub(super) fn clear_the_way(
    job: &SortJob<'_>,
    loads: &mut [Load],
    memory: &mut Memory,
) -> Result<(), Error> {
    let starts = starts(loads, job.record_bytes);
    // A page in which two loads meet is written with the later load.
    let pieces = loads.iter_mut().zip(starts).flat_map(|(load, start)| {
        load.pieces.iter_mut().map(move |piece| (align_up(start), piece))
    });
    let in_the_way = pieces.filter(|(start, piece)| piece.address.offset < *start);
    let block_bytes = job.plan.block_bytes as usize;
    // The scatter's write blocks are free again: at least two.
    let count = memory.fitting(block_bytes).clamp(2, 1 + READS);
    let mut buffers = memory.take(count, block_bytes);
    let mut copy = buffers.pop();
    let scratch = job.scratch();
    let reads = in_the_way.map(|(start, piece)| {
        let bytes = piece.paged_bytes(job.record_bytes) as usize;
        (FileRange { file: scratch.file(0), offset: piece.address.offset, bytes }, (start, piece))
    });
    let buffers = job.read_in_order(buffers, reads, |(start, piece), pages| {
        check_seal(job.disk, scratch, piece.address, pages, piece.seal)?;
        piece.address = scratch.allocate_behind(start, pages.len() as u64)?;
        let mut lease = copy.take().expect("the write before gave it back");
        lease[..pages.len()].copy_from_slice(pages);
        copy = Some(write(job, piece.address, pages.len(), lease)?);
        Ok(())
    })?;
    memory.give(buffers.into_iter().chain(copy));
    Ok(())
}

/// Writes the first `bytes` bytes of `lease` to scratch, and waits.
fn write(
    job: &SortJob<'_>,
    address: BlockAddress,
    bytes: usize,
    lease: Lease,
) -> Result<Lease, Error> {
    let (reply, completed) = bounded(1);
    job.submit(job.scratch().write(address, bytes, lease, 0, &reply));
    let completion = completed.recv().expect("a disk completes every request");
    job.traffic.finish(&completion);
    job.scratch().written(&completion);
    completion.result?;
    Ok(completion.lease)
}
