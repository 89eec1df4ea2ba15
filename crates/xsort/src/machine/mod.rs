//! What the machine has for a job: memory that may be used, and the processor's caches.

mod caches;
mod memory;

pub use caches::caches;
pub use memory::{Budget, MemoryLimits};
