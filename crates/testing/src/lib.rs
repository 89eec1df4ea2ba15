//! What the tests of several crates share. A development dependency only.
//!
//! - [`Random`]: pseudo-random numbers of which a seed is the whole story;
//! - [`seeds`], [`for_each_seed`]: which seeds a test tries, and a watchdog for those that hang;
//! - [`quick_or_long`]: how much a test does in an ordinary run, and in `make test-long`;
//! - [`Dribble`]: a stream as pipes are;
//! - [`surroundings`]: what a test inherits from the one who starts it, and doesn't pass on;
//! - [`gnu`]: the installed GNU programs, which are the oracle for what ours must do.
//!
//! What only one crate's tests need stays beside them.

#![forbid(unsafe_code)]

pub mod gnu;
mod random;
mod seeds;
mod streams;
pub mod surroundings;

pub use random::Random;
pub use seeds::{for_each_seed, number, quick_or_long, seeds};
pub use streams::Dribble;
