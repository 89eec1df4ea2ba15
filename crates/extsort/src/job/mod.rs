//! What every pipeline has: errors, the observer, threads that fail together, times, traffic.

pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod gauges;
pub(crate) mod observer;
pub(crate) mod process;
pub(crate) mod stage_times;
pub(crate) mod threads;
pub(crate) mod traffic;
pub mod units;
