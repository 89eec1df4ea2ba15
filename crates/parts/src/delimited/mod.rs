//! Shared code for sorted slices of lines and rows: their records end with a byte that occurs
//! nowhere else in them.
//!
//! | file | idea |
//! |---|---|
//! | `cuts` | the positions of splitters in sorted data |
//! | `merge` | merges ranges of sorted data |
//! | `slice_inputs` | the ranges of a slice as inputs of the engine |
//! | `verify` | reads outputs and inputs again |

mod cuts;
mod merge;
mod slice_inputs;
mod verify;

pub(crate) use cuts::{SortedData, check_written, cut_data};
pub(crate) use merge::{KEPT_BYTES, MergedRecords, merge_ranges};
pub(crate) use slice_inputs::{is_compressed, line_begin, slice_inputs};
pub(crate) use verify::{Reading, verify_records};
