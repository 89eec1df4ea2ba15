//! What the machine has for a job: memory and threads that may be used, the
//! processor's caches, and chance.

mod caches;
mod memory;
mod threads;

use std::hash::{BuildHasher, Hasher, RandomState};

pub use caches::caches;
pub use memory::{Budget, MemoryLimits};
pub use threads::{is_address_space_limited, threads};

/// A random number, for a sort's [`sample_seed`](xsort_extsort::SortOptions::sample_seed). Not for
/// secrets.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
