//! One suite for every way that bytes can travel: io_uring, threads, and the simulated disk, calm
//! and rough.
//!
//! Files lie in cargo's own temporary directory, on a real file system, so that direct I/O is what
//! is tested. What needs root, a second user or a kernel feature that isn't there is skipped with a
//! line that says so.

mod bench;
mod cache;
mod failure;
mod memory;
mod publish;
mod simulation;
mod system;
mod transfers;
