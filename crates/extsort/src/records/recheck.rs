//! Verifying scratch blocks of an earlier process before their inputs are removed.
//!
//! Every block is verified when it is used, and damage ends the sort. This is early enough as long
//! as the inputs exist. Once they are removed, the records exist only on scratch. Between the two
//! processes, a file system may have lost data, or another program may have cut a file.

use super::job::SortJob;
use super::memory::Memory;
use crate::Error;
use crate::store::ordered_reads::FileRange;
use crate::store::seal::{SealedBlock, check_seal};

/// Number of reads in flight.
const READS: usize = 8;

/// Reads blocks and checks their seals, with memory from the pool.
pub(super) fn check_blocks(
    job: &SortJob<'_>,
    blocks: impl Iterator<Item = SealedBlock>,
    memory: &mut Memory,
) -> Result<(), Error> {
    let block_bytes = job.plan.block_bytes as usize;
    // The pool fits at least one, since it fits the blocks for spilling.
    let count = READS.min(memory.fitting(block_bytes)).max(1);
    let buffers = memory.take(count, block_bytes);
    let ranges = blocks.map(|block| {
        let SealedBlock { address, bytes, .. } = block;
        let file = job.scratch().file(address.drive);
        (FileRange { file, offset: address.offset, bytes }, block)
    });
    let buffers = job.read_in_order(buffers, ranges, |block, pages| {
        check_seal(job.disk, job.scratch(), block.address, pages, block.seal)
    })?;
    memory.give(buffers);
    Ok(())
}
