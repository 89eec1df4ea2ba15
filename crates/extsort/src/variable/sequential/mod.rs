//! Plain merges of inputs, on one thread and without a plan.
//!
//! | file | idea |
//! |---|---|
//! | `merge` | always the smallest line, of equal ones that of the first input |
//! | `passes` | merges of more inputs than memory allows at once |
//! | `heap` | inputs as a heap, by their next lines |
//! | `cursor` | an input, and the line at which it stands |

mod cursor;
mod heap;
mod merge;
mod passes;

pub use merge::{merge_sequential, sequential_inputs_max};
pub use passes::{PassError, TemporaryFiles, merge_passes};
