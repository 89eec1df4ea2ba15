//! A simulated object store: objects in memory, and everything that a store or the way to it can do
//! wrong.
//!
//! An ordinary [`Client`](crate::Client), for the tests of whatever uses one. Every decision is a
//! hash of the seed, of what is asked for and of how often it was asked for, never of the clock or
//! of which thread came first: so the seed is the bug report. Pauses take no time.

mod objects;
mod options;
mod store;

pub use options::{StoreCall, StoreFault, StoreOptions, StoreTrouble};
pub use store::SimStore;
