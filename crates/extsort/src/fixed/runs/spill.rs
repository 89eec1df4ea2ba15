//! Blocks of a run on their way to scratch.

use super::run::{Block, Index};
use crate::Error;
use crate::fixed::job::SortJob;
use crate::store::seal::{paged_bytes, seal};
use crossbeam_channel::Sender;
use std::sync::Arc;
use xsort_disk::{BlockPool, Completion, Lease};
use xsort_records::Key;

/// Writes the blocks of one unit of work, and makes their index.
pub(super) struct BlockWriter<'a, K> {
    job: &'a SortJob<'a, K>,
    /// Memory for the blocks.
    pub(super) pool: &'a Arc<BlockPool>,
    /// The chunk or segment that the blocks belong to.
    unit: usize,
    written: &'a Sender<Completion>,
    pub(super) index: Index,
}

impl<'a, K: Key> BlockWriter<'a, K> {
    /// For `records` records.
    pub(super) fn new(
        job: &'a SortJob<'a, K>,
        pool: &'a Arc<BlockPool>,
        unit: usize,
        records: usize,
        written: &'a Sender<Completion>,
    ) -> Self {
        let blocks = records.div_ceil(job.block_records());
        let index = Index::with_capacity(job.key.bytes(), blocks);
        BlockWriter { job, pool, unit, written, index }
    }

    /// Seals a block of `records` sorted records, adds it to the index and starts its write.
    pub(super) fn write(&mut self, mut block: Lease, records: usize) -> Result<(), Error> {
        let SortJob { key, record_bytes, .. } = *self.job;
        let bytes = paged_bytes(records, record_bytes);
        let seal = seal(&mut block[..bytes], records * record_bytes);
        let address = self.job.scratch().allocate(bytes as u64)?;
        self.index.push(Block { address, records: records as u32, seal }, |out| {
            key.encode(&block[..record_bytes], out);
        });
        let request = self.job.scratch().write(address, bytes, block, self.unit, self.written);
        self.job.submit(request);
        Ok(())
    }
}
