//! Plain merges of inputs, on one thread and without a plan.
//!
//! | file | idea |
//! |---|---|
//! | `merge` | always takes the smallest line, of equal lines that of the first input |
//! | `passes` | merges of more inputs than memory allows at once |
//! | `tree` | inputs as a loser tree, by their next lines |
//! | `cursor` | an input, and its current line |

mod cursor;
mod merge;
mod passes;
mod tree;

pub use merge::{merge_sequential, sequential_inputs_max};
pub use passes::{PassError, TemporaryFiles, merge_passes};
