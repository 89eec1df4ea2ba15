//! A simulated object store: objects in memory, and every fault of a store or of the network.
//!
//! An ordinary [`Client`](crate::Client), for the tests of a client's callers. Every decision is a
//! hash of the seed, of the request and of the number of earlier equal requests. It never depends
//! on the clock or on the order of threads, so the seed is the bug report. Pauses take no time.

mod objects;
mod options;
mod store;

pub use options::{StoreCall, StoreFault, StoreOptions, StoreTrouble};
pub use store::SimStore;
