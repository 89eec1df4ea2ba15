//! One suite for all ways to move bytes: io_uring, threads, and the simulated disk with and without
//! faults.
//!
//! Files are in cargo's temporary directory, on a real file system, so that direct I/O is tested. A
//! test is skipped, with a message, if it lacks root, a second user or a kernel feature.

mod bench;
mod cache;
mod failure;
mod memory;
mod publish;
mod simulation;
mod system;
mod transfers;
