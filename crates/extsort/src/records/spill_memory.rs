//! The memory of a pass that writes to scratch: areas, sort buffers, and blocks to spill through.

use super::job::SortJob;
use super::memory::Memory;
use std::sync::Arc;
use xsort_disk::{BlockPool, Lease};

/// Memory taken from the pool at the beginning of a pass, and returned at its end.
pub(crate) struct SpillMemory {
    /// Areas to read chunks into.
    pub(crate) areas: Vec<Lease>,
    /// Sort buffers, one for each worker.
    pub(crate) sort_buffers: Vec<Lease>,
    /// `None` if the sort has no scratch.
    pub(crate) blocks: Option<Arc<BlockPool>>,
}

impl SpillMemory {
    pub(crate) fn take(job: &SortJob<'_>, memory: &mut Memory, areas: usize) -> Self {
        let plan = job.plan;
        // Areas first, as `memory` demands.
        let areas = memory.take(areas, plan.area_bytes as usize);
        let sort_buffers = memory.take(plan.threads, plan.sort_buffer_bytes as usize);
        let blocks = job.scratch.as_ref().map(|_| {
            let blocks = memory.take(plan.spill_blocks, plan.spill_block_bytes as usize);
            BlockPool::new(blocks, plan.spill_block_bytes as usize)
        });
        SpillMemory { areas, sort_buffers, blocks }
    }

    pub(crate) fn give_back(self, memory: &mut Memory) {
        let blocks = self.blocks.into_iter().flat_map(BlockPool::dissolve);
        memory.give(self.areas.into_iter().chain(self.sort_buffers).chain(blocks));
    }
}
