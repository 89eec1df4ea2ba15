//! The basis of every pipeline: errors, the observer, threads that fail together, figures for
//! reports. Nothing here depends on what a job reads or writes.

pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod gauges;
pub(crate) mod least_budget;
pub(crate) mod observer;
pub(crate) mod process;
pub(crate) mod spans;
pub(crate) mod stage_times;
pub(crate) mod threads;
pub(crate) mod traffic;
pub mod units;
