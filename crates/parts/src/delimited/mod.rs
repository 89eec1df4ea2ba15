//! What sorted slices of lines and of rows have in common: records that end with a byte, which is
//! nowhere else in them.
//!
//! | file | idea |
//! |---|---|
//! | `cuts` | where splitters lie in sorted data |
//! | `merge` | merging ranges of it |
//! | `slice_inputs` | the ranges of a slice as inputs of the engine |
//! | `verify` | reading outputs and inputs again |

mod cuts;
mod merge;
mod slice_inputs;
mod verify;

pub(crate) use cuts::{check_written, cut_data};
pub(crate) use merge::{KEPT_BYTES, MergedRecords, merge_ranges};
pub(crate) use slice_inputs::{is_compressed, line_begin, slice_inputs};
pub(crate) use verify::{Reading, verify_records};
