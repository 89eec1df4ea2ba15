//! What a job gets of the machine. Each figure is looked up when it is first asked for, because
//! some jobs are so small that asking would take longer than the job.

use super::caches::caches;
use super::memory::{Budget, MemoryLimits};
use super::threads::threads;
use crate::resources::Resources;
use std::sync::OnceLock;
use xsort_extsort::Caches;

/// The memory, threads and caches of a job.
#[derive(Default)]
pub(crate) struct MachineShare {
    /// What the job asks for.
    pub(crate) asked: Resources,
    limits: OnceLock<MemoryLimits>,
    threads: OnceLock<usize>,
    caches: OnceLock<Caches>,
}

impl MachineShare {
    /// Takes what a job asks for. Looks nothing up.
    pub(crate) fn new(asked: Resources) -> MachineShare {
        MachineShare { asked, ..MachineShare::default() }
    }

    fn limits(&self) -> &MemoryLimits {
        self.limits.get_or_init(MemoryLimits::read)
    }

    /// Returns the memory for everything that grows with the data.
    pub(crate) fn budget(&self) -> Budget {
        self.limits().budget(self.asked.memory)
    }

    /// Returns half of the bytes of memory that are available besides the budget.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.limits().available_bytes.saturating_sub(self.budget().bytes) / 2
    }

    /// Returns the number of worker threads, at least 1.
    pub(crate) fn threads(&self) -> usize {
        *self.threads.get_or_init(|| threads(self.asked.threads))
    }

    /// Returns the cache sizes to which a sort in memory adapts.
    pub(crate) fn caches(&self) -> Caches {
        *self.caches.get_or_init(|| caches(self.asked.cache_bytes))
    }
}
