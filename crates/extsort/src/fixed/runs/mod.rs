//! Runs and merge: every chunk is sorted as it comes and goes to scratch as a run, then all runs
//! are merged.
//!
//! | file | idea |
//! |---|---|
//! | `form` | phase one: a sorted run of each chunk |
//! | `compress` | blocks that take fewer pages on scratch |
//! | `run`, `spill` | runs and their index, and blocks on their way to scratch |
//! | `merge` | phase two: intermediate passes, and the merge into the output |
//! | `forecast` | the order in which a merge needs the blocks |
//! | `feed` | reading in that order, and handing out segments |
//! | `cut`, `segment`, `slices` | what a segment is, and where it is cut |
//! | `merger`, `sink` | the worker that merges segments, and where it writes |

mod compress;
mod cut;
mod feed;
mod forecast;
mod form;
mod merge;
mod merger;
mod run;
mod segment;
mod sink;
mod slices;
mod spill;

pub(crate) use forecast::RunBlock;
pub(crate) use form::form_runs;
pub(crate) use merge::merge_runs;
pub(crate) use run::{Block, Run};
