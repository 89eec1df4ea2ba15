//! Sorting lines in memory: records of varying length that end with a delimiter.
//!
//! | file | idea |
//! |---|---|
//! | `order` | an order of lines |
//! | `entry` | the position of a line and one or two words of its key |
//! | `mask` | where bytes are equal: one bit each of 64 |
//! | `scan` | the ends of lines, found 64 bytes at a time |
//! | `columns` | words without the bytes that are equal in all keys |
//! | `sort` | entries sorted by words, equal ones by further words |
//! | `gather` | copying or moving lines into a new order |
//! | `merge` | the k-way merge of sorted runs of lines |
//! | `hash` | hashes of lines, whose sum doesn't depend on the order |
//! | `search` | the position of a line in a sorted run |
//! | `check` | the first line that is smaller than the preceding one |
//! | `dispatch` | an order as an object, for code that is compiled once |

mod check;
mod columns;
mod dispatch;
mod entry;
mod gather;
mod hash;
mod mask;
mod merge;
mod order;
mod scan;
mod search;
mod sort;

pub use check::CheckedLines;
pub use columns::SameBytes;
pub use dispatch::{LineComparer, LineKernels, SortSettings};
pub use entry::{Entries, Entry, Words};
pub use gather::{
    Arranged, Gathered, arrange, arrange_entries, gather, gather_entries, gather_text,
};
pub use hash::line_hash;
pub use mask::{MASK_BYTES, mask};
pub use merge::{Filled, LineMerge, Lines, Merge, PutLine};
pub use order::{ByBytes, ByBytesReversed, LineOrder};
pub use scan::{count_lines, for_each_line, last_line, line_end, shared_bytes, whole_lines_bytes};
pub use search::{Bound, bound_in_entries, bound_in_text};
pub use sort::{Deduplicated, Sorted, dedup, sort, sort_only};
