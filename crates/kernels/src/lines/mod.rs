//! Order of lines in memory: records of varying length that end with a delimiter.
//!
//! | file | idea |
//! |---|---|
//! | `order` | an order of lines, as sorting needs it |
//! | `entry` | a line as its position and one or two words of its key |
//! | `scan` | the ends of lines, found 64 bytes at a time |
//! | `columns` | words without the bytes that are the same in all keys |
//! | `sort` | entries sorted by words, equal ones by further words |
//! | `gather` | lines copied together in a new order, or moved to it |
//! | `merge` | the k-way merge of sorted runs of lines |
//! | `hash` | hashes of lines, whose sum doesn't depend on the order |
//! | `search` | where a line belongs in a sorted run |

mod columns;
mod entry;
mod gather;
mod hash;
mod merge;
mod order;
mod scan;
mod search;
mod sort;

pub use columns::SameBytes;
pub use entry::{Entry, Words};
pub use gather::{Arranged, Gathered, arrange, gather, gather_text};
pub use hash::line_hash;
pub use merge::{Filled, Lines, Merge};
pub use order::{ByBytes, ByBytesReversed, LineOrder};
pub use scan::{
    MASK_BYTES, count_lines, for_each_line, line_end, mask, shared_bytes, whole_lines_bytes,
};
pub use search::{Bound, bound_in_entries, bound_in_text};
pub use sort::{Deduplicated, Sorted, dedup, sort, sort_only};
