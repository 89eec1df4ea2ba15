//! Order in memory: sorting, gathering, merging and searching records that are already there.
//!
//! No I/O, no threads, no clock; all memory that grows with the data is lent by the caller.

mod form;
mod merge;

pub use form::{common_prefix, gather, sort};
pub use merge::{Merge, Node, Run};
