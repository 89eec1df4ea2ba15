//! The planner: sizes and a budget in, the whole shape of a sort out, or the least budget that
//! would do.
//!
//! It is pure: it touches no disk and no clock, so that `--dry-run` prints exactly what a run does,
//! and tests can ask about machines that aren't here. It lays out all memory of a sort that grows
//! with the data, for every phase, so that each phase adds up to the budget at most.
//!
//! | file | idea |
//! |---|---|
//! | `shape` | what is known before, and what a plan is |
//! | `sizes` | sizes that both methods aim at |
//! | `runs` | how runs and merge divide the budget |
//! | `bins` | how scatter and gather divide the budget |
//! | `choose` | which method, and the least budget |
//! | `display` | a plan as text |

mod bins;
mod choose;
mod display;
mod runs;
mod shape;
mod sizes;

pub(crate) use bins::{PIECE_BYTES_EASY, bins_per_level, fan_out, lead_bytes, levels, sample_keys};
pub use choose::plan;
pub(crate) use choose::resident_bytes_max;
pub use shape::{Facts, MergeShape, Plan, ScatterShape, Shape};
pub(crate) use sizes::{BLOCK_BYTES_MAX, PAGE};
