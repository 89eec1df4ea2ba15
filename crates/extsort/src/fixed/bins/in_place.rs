//! Bins in the output's own file, which takes their places over.
//!
//! ```text
//!  scattered          |lead|  bin 0  |  bin 1  |  bin 2  |  bin 3  |
//!  bin 2 was read     |  bin 0  |  bin 1  |  bin 2  |    |  bin 3  |
//!  and is written     '------ sorted ---->|  - - - >|
//! ```
//!
//! A sample says how large each bin will be, and so where its records will be in the output. Its
//! blocks go near that place, a little behind it. Bins are gathered in order, and each is in memory
//! before it is written, over what was read. So a sort needs the space of its output and little
//! more, and the file system neither finds a second lot of blocks nor takes one back: on a virtual
//! drive that finds its own blocks when they are first written, that takes twice as long as to
//! write over them (docs/experiments/2026-11-27-in-place.md).
//!
//! Where the sample is wrong, or blocks found no place, a piece may be where an earlier bin will
//! be written. [`clear_the_way`] finds every such piece before that begins, and moves it.

use super::gather::starts;
use super::load::Load;
use crate::Error;
use crate::fixed::job::SortJob;
use crate::fixed::memory::Memory;
use crate::store::ordered_reads::FileRange;
use crate::store::scratch::BlockAddress;
use crate::store::seal::check_seal;
use crossbeam_channel::bounded;
use xsort_disk::{Lease, align_up};

/// Reads in flight of pieces that are moved.
const READS: usize = 8;

/// Moves each piece that is where a load before its own will be written.
pub(super) fn clear_the_way<K>(
    job: &SortJob<'_, K>,
    loads: &mut [Load],
    memory: &mut Memory,
) -> Result<(), Error> {
    let starts = starts(loads, job.record_bytes);
    // Pages in which two loads meet are written with the later one.
    let pieces = loads.iter_mut().zip(starts).flat_map(|(load, start)| {
        load.pieces.iter_mut().map(move |piece| (align_up(start), piece))
    });
    let in_the_way = pieces.filter(|(start, piece)| piece.address.offset < *start);
    let block_bytes = job.plan.block_bytes as usize;
    // The blocks that pieces were written through are free again: there are two at least.
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

/// Writes the first bytes of `lease` to scratch, and waits.
fn write<K>(
    job: &SortJob<'_, K>,
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
