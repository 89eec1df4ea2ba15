//! Runs and merge: every chunk is sorted after it is read, and spilled as a run; then all runs are
//! merged.
//!
//! | file | idea |
//! |---|---|
//! | `form` | phase one: a sorted run of each chunk |
//! | `compress` | compression of the blocks of runs |
//! | `sorted_input` | inputs whose blocks are merged where they are |
//! | `run`, `spill` | runs and their index, and writing blocks to scratch |
//! | `merge` | phase two: intermediate passes, and the merge into the output |
//! | `forecast` | the order in which a merge needs the blocks |
//! | `feed` | reading in that order, and handing out segments |
//! | `cut`, `segment`, `slices` | segments of a merge, and the cuts between them |
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
mod sorted_input;
mod spill;

pub(crate) use forecast::RunBlock;
pub(crate) use form::form_runs;
pub(crate) use merge::merge_runs;
pub(crate) use run::{Block, Index, Place, Run};
pub(crate) use sorted_input::{RecordRange, SortedInput, records_of_block};
