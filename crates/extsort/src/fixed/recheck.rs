//! Blocks of scratch that an earlier process has written, read once more before the inputs go that
//! they were made of.
//!
//! Every block is checked when it is used, and damage ends the sort: that is early enough as long
//! as the inputs are there. Once they are removed scratch is all there is, and between two
//! processes a file system may have come back empty, or another program may have cut a file.

use super::job::Job;
use super::memory::Memory;
use crate::Error;
use crate::store::scratch::BlockAddress;
use crate::store::seal::check_seal;
use crossbeam_channel::{Receiver, bounded};
use std::collections::VecDeque;
use xsort_disk::{Completion, Direction, Lease, Request};

/// Reads in flight.
const READS: usize = 8;

/// A block on scratch, or a piece of one, that has a seal of its own.
#[derive(Clone, Copy)]
pub(crate) struct SealedBlock {
    pub(crate) place: BlockAddress,
    /// Of its pages, at most the plan's block.
    pub(crate) bytes: usize,
    pub(crate) seal: u64,
}

/// Reads blocks and checks their seals. The memory is that of the pool.
pub(super) fn check_blocks<K>(
    job: &Job<'_, K>,
    blocks: impl Iterator<Item = SealedBlock>,
    memory: &mut Memory,
) -> Result<(), Error> {
    let block_bytes = job.plan.block_bytes as usize;
    // At least one, which the blocks for spilling have room for: none would be no check.
    let count = READS.min(memory.fitting(block_bytes)).max(1);
    let mut free = memory.take(count, block_bytes);
    let mut reads: VecDeque<(SealedBlock, Receiver<Completion>)> = VecDeque::with_capacity(count);
    let mut blocks = blocks.peekable();
    loop {
        while let (Some(block), Some(lease)) = (blocks.peek().copied(), free.pop()) {
            blocks.next();
            reads.push_back((block, start(job, block, lease)));
        }
        let Some((block, read)) = reads.pop_front() else { break };
        let completion = read.recv().expect("a disk completes every request");
        job.traffic.finish(&completion);
        completion.result?;
        let pages = &completion.lease[..block.bytes];
        check_seal(job.disk, job.scratch(), block.place, pages, block.seal)?;
        free.push(completion.lease);
        if job.should_stop() {
            job.failure.check()?;
        }
    }
    memory.give(free);
    Ok(())
}

fn start<K>(job: &Job<'_, K>, block: SealedBlock, lease: Lease) -> Receiver<Completion> {
    let (reply, completed) = bounded(1);
    job.submit(Request {
        direction: Direction::Read,
        file: job.scratch().file(block.place.drive),
        offset: block.place.offset,
        bytes: block.bytes,
        bytes_needed: block.bytes,
        lease,
        tag: 0,
        reply,
    });
    completed
}
