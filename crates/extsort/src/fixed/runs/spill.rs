//! Blocks of a run on their way to scratch.

use super::run::{Block, Index};
use crate::Error;
use crate::fixed::job::SortJob;
use crate::job::stage_times::StageTimer;
use crate::store::seal::seal;
use crossbeam_channel::Sender;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{BlockPool, Completion, Lease, align_up};
use xsort_records::Key;

/// Writes the blocks of one unit of work, and makes their index.
pub(super) struct BlockWriter<'a, K> {
    job: &'a SortJob<'a, K>,
    /// Memory for the blocks.
    pool: &'a Arc<BlockPool>,
    /// The chunk or segment that the blocks belong to.
    unit: usize,
    written: &'a Sender<Completion>,
    times: BlockTimes<'a>,
    pub(super) index: Index,
}

/// Where the times of a block on its way to scratch are counted.
#[derive(Clone, Copy)]
pub(super) struct BlockTimes<'a> {
    /// Filling and sealing it.
    pub(super) busy: &'a StageTimer,
    /// Waiting for memory, and for leave to start a write.
    pub(super) waits_for_write: &'a StageTimer,
}

impl<'a, K: Key> BlockWriter<'a, K> {
    /// For `records` records.
    pub(super) fn new(
        job: &'a SortJob<'a, K>,
        pool: &'a Arc<BlockPool>,
        unit: usize,
        records: usize,
        written: &'a Sender<Completion>,
        times: BlockTimes<'a>,
    ) -> Self {
        let blocks = records.div_ceil(job.block_records());
        let index = Index::with_capacity(job.key.bytes(), blocks);
        BlockWriter { job, pool, unit, written, times, index }
    }

    /// Memory for a block.
    pub(super) fn take(&self) -> Result<Lease, Error> {
        let block = self.times.waits_for_write.time(|| self.pool.take());
        block.ok_or(Error::Cancelled)
    }

    /// Compresses a block of `records` sorted records if that is worth it, seals it, adds it to the
    /// index and starts its write.
    pub(super) fn write(&mut self, mut block: Lease, records: usize) -> Result<(), Error> {
        let SortJob { key, record_bytes, gauges, .. } = *self.job;
        self.index.push_key(|out| key.encode(&block[..record_bytes], out));
        let plain_bytes = records * record_bytes;
        // The whole before its compressed parts.
        gauges.spilled.bytes.fetch_add(plain_bytes as u64, Relaxed);
        let compressed = self.job.compress(&mut block, plain_bytes)?;
        let used = compressed.map_or(plain_bytes, |compressed| compressed.bytes as usize);
        let bytes = align_up(used as u64) as usize;
        let seal = self.times.busy.time(|| seal(&mut block[..bytes], used));
        let waits_for_write = self.times.waits_for_write;
        let address = waits_for_write.time(|| self.job.scratch().allocate(bytes as u64))?;
        self.index.push(Block { address, records: records as u32, compressed, seal });
        gauges.spilled.scratch_bytes.fetch_add(bytes as u64, Relaxed);
        let request = self.job.scratch().write(address, bytes, block, self.unit, self.written);
        // A limit on the rate makes it wait.
        waits_for_write.time(|| self.job.submit(request));
        Ok(())
    }
}
