//! The planner. From sizes and a budget it computes the whole shape of a sort, or the least budget
//! that has a plan.
//!
//! It is pure: it uses neither disk nor clock. So `--dry-run` prints exactly what a run does, and
//! tests can plan for other machines. The plan accounts for all memory that grows with the data, in
//! every phase, so that no phase exceeds the budget.
//!
//! | file | idea |
//! |---|---|
//! | `shape` | the facts known before a sort, and the plan |
//! | `sizes` | target sizes of both methods |
//! | `runs` | how runs and merge divide the budget |
//! | `inputs` | how a merge of inputs that are in order divides the budget |
//! | `bins` | how scatter and gather divide the budget |
//! | `choose` | the method, and the least budget |
//! | `display` | a plan as text |

mod bins;
mod choose;
mod display;
mod inputs;
mod runs;
mod shape;
mod sizes;

pub(crate) use bins::{PIECE_BYTES_EASY, bins_per_level, fan_out, lead_bytes, levels, sample_keys};
pub use choose::plan;
pub(crate) use choose::resident_bytes_max;
pub(crate) use inputs::best_plan as merge_plan;
pub(crate) use runs::INDEX_ENTRY_BYTES;
pub use shape::{Facts, MergeShape, Plan, ScatterShape, Shape};
pub(crate) use sizes::{BLOCK_BYTES_MAX, PAGE};
