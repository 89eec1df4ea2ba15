//! Writing the blocks of a run to scratch.
//!
//! A merge of many runs in little memory reads small blocks. They are written several at a time, as
//! many as fit the plan's write buffer: a drive takes larger writes faster.

use super::run::{Block, Index};
use crate::Error;
use crate::job::stage_times::StageTimer;
use crate::records::job::SortJob;
use crate::store::scratch::BlockAddress;
use crate::store::seal::seal;
use crossbeam_channel::Sender;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{BlockPool, Completion, Lease, align_up};

/// Writes the blocks of one unit of work, and builds their index.
pub(super) struct BlockWriter<'a> {
    job: &'a SortJob<'a>,
    /// Memory for writes.
    pool: &'a Arc<BlockPool>,
    /// The chunk or segment that the blocks belong to.
    unit: usize,
    written: &'a Sender<Completion>,
    times: BlockTimes<'a>,
    pub(super) index: Index,
    /// The memory of the next write.
    filling: Option<Lease>,
    /// The blocks in `filling`. Their addresses are relative to it.
    blocks: Vec<Block>,
    /// Size of these blocks in bytes.
    filled: usize,
    /// Number of writes started.
    writes: usize,
}

/// The timers for writing a block to scratch.
#[derive(Clone, Copy)]
pub(super) struct BlockTimes<'a> {
    /// Times filling and sealing the block.
    pub(super) busy: &'a StageTimer,
    /// Times waiting for memory, and for permission to start a write.
    pub(super) waits_for_write: &'a StageTimer,
}

impl<'a> BlockWriter<'a> {
    /// A writer for `records` records.
    pub(super) fn new(
        job: &'a SortJob<'a>,
        pool: &'a Arc<BlockPool>,
        unit: usize,
        records: usize,
        written: &'a Sender<Completion>,
        times: BlockTimes<'a>,
    ) -> Self {
        let blocks = records.div_ceil(job.block_records());
        BlockWriter {
            job,
            pool,
            unit,
            written,
            times,
            index: Index::with_capacity(job.kernels.key_bytes(), blocks),
            filling: None,
            blocks: Vec::new(),
            filled: 0,
            writes: 0,
        }
    }

    /// Memory for the next block.
    pub(super) fn block(&mut self) -> Result<&mut [u8], Error> {
        let lease = match self.filling.take() {
            Some(lease) => lease,
            None => {
                let lease = self.times.waits_for_write.time(|| self.pool.take());
                lease.ok_or(Error::Cancelled)?
            }
        };
        Ok(&mut self.filling.insert(lease)[self.filled..])
    }

    /// Finishes the next block, of `records` sorted records: compresses it if that pays, seals it,
    /// and adds it to the index. Starts the write if its memory is full.
    pub(super) fn finish_block(&mut self, records: usize) -> Result<(), Error> {
        let SortJob { kernels, record_bytes, gauges, plan, .. } = *self.job;
        let block = &mut self.filling.as_mut().expect("the block lies in it")[self.filled..];
        self.index.push_key(|out| kernels.encode(&block[..record_bytes], out));
        let plain_bytes = records * record_bytes;
        // Count the total before its compressed parts.
        gauges.spilled.bytes.fetch_add(plain_bytes as u64, Relaxed);
        let compressed = self.job.compress(block, plain_bytes)?;
        let used = compressed.map_or(plain_bytes, |compressed| compressed.bytes as usize);
        let bytes = align_up(used as u64) as usize;
        let seal = self.times.busy.time(|| seal(&mut block[..bytes], used));
        let is_full = block.len() - bytes < plan.block_bytes as usize;
        let address = BlockAddress { drive: 0, offset: self.filled as u64 };
        self.blocks.push(Block { address, records: records as u32, compressed, seal });
        self.filled += bytes;
        if is_full { self.write() } else { Ok(()) }
    }

    /// Starts the write of the finished blocks.
    fn write(&mut self) -> Result<(), Error> {
        let Some(lease) = self.filling.take() else { return Ok(()) };
        let bytes = std::mem::take(&mut self.filled);
        let waits_for_write = self.times.waits_for_write;
        let start = waits_for_write.time(|| self.job.scratch().allocate(bytes as u64))?;
        for block in self.blocks.drain(..) {
            let address = BlockAddress { offset: start.offset + block.address.offset, ..start };
            self.index.push(Block { address, ..block });
        }
        self.job.gauges.spilled.scratch_bytes.fetch_add(bytes as u64, Relaxed);
        let request = self.job.scratch().write(start, bytes, lease, self.unit, self.written);
        // A rate limit makes this wait.
        waits_for_write.time(|| self.job.submit(request));
        self.writes += 1;
        Ok(())
    }

    /// Starts the last write. Returns the index and the number of writes.
    pub(super) fn finish(mut self) -> Result<(Index, usize), Error> {
        self.write()?;
        Ok((self.index, self.writes))
    }
}
