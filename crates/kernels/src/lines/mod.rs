//! Order of lines in memory: records of varying length that end with a delimiter.
//!
//! | file | idea |
//! |---|---|
//! | `order` | what sorting needs to know of an order of lines |
//! | `entry` | a line as a word or two of its key and its place |
//! | `scan` | finding where lines end, 64 bytes at a time |
//! | `sort` | entries sorted by words, equal ones by further words |
//! | `gather` | lines copied together in a new order |
//! | `merge` | the k-way merge of sorted runs of lines |
//! | `tally` | a sum over lines in any order: what goes in must come out |
//! | `search` | where a line would go in a sorted run |

mod entry;
mod gather;
mod merge;
mod order;
mod scan;
mod search;
mod sort;
mod tally;

pub use entry::{Entry, Words};
pub use gather::{Gathered, gather};
pub use merge::{Lines, Merge};
pub use order::{ByBytes, ByBytesReversed, LineOrder};
pub(crate) use scan::shared_bytes;
pub use scan::{count_lines, for_each_line, line_end, whole_lines_bytes};
pub use search::{bound_in_entries, bound_in_text};
pub use sort::{Kept, dedup, sort};
pub use tally::line_hash;
