//! The machine's resources for a job: memory, threads, processor caches and random numbers.

mod caches;
mod memory;
mod share;
mod threads;

use std::hash::{BuildHasher, Hasher, RandomState};

pub use caches::caches;
pub use memory::{Budget, MemoryLimits};
pub(crate) use share::MachineShare;
pub use threads::{is_address_space_limited, threads};

/// Returns a random number for a sort's [`sample_seed`](xsort_extsort::SortOptions::sample_seed).
/// Not suitable for secrets.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
