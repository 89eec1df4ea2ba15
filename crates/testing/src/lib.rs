//! Helpers for the tests of several crates. A development dependency only.
//!
//! - [`Random`]: pseudo-random numbers that depend only on a seed;
//! - [`seeds`], [`for_each_seed`]: the seeds that a test tries, and a watchdog for seeds that hang;
//! - [`quick_or_long`]: how much a test does in an ordinary run, and in `make test-long`;
//! - [`names`]: what is in a directory;
//! - [`Dribble`]: a stream that behaves like a pipe;
//! - [`surroundings`]: what a test inherits from its parent process, and doesn't pass on;
//! - [`gnu`]: the installed GNU programs, the oracle for ours.
//!
//! Helpers that only one crate's tests need stay in that crate.

#![forbid(unsafe_code)]

mod directories;
pub mod gnu;
mod random;
mod seeds;
mod streams;
pub mod surroundings;

pub use directories::names;
pub use random::Random;
pub use seeds::{for_each_seed, number, quick_or_long, seeds};
pub use streams::Dribble;
