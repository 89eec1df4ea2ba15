//! Order in memory: sorting, gathering, merging and searching records that are already there.
//!
//! No I/O, no threads, no clock; all memory that grows with the data is lent by the caller. What a
//! [`Key`] says is believed only as far as order goes: one that lies (inconsistent words or
//! comparisons) gives a wrong order, but each record still comes out exactly once and no memory is
//! touched that was not lent.
//!
//! | file | idea |
//! |---|---|
//! | `sort` | the outline: words out of the records, one partition, buckets, ties |
//! | `extract` | what a pass over the records learns: words, shared prefix, whether they are in order already |
//! | `partition` | one most-significant-digit pass that asks for lines before it writes them |
//! | `words` | sorting u64s, all different, in pieces that fit the cache |
//! | `caches` | what pieces are made for |
//! | `ties` | taking further key bytes within groups of equal words, without recursion |
//! | `splitters` | records to bins between sampled keys: counting and placing |
//! | `classify` | the bins of many records at once, by one word of their keys, down a tree without branches |
//! | `trie` | the bin of one record by its whole key |
//! | `gather` | payloads moved once, in final order |
//! | `lines` | the same for lines of text |
//! | `loser_tree`, `merge` | the k-way merge and its cursors |
//! | `search` | bounds in one sorted piece, for cutting a merge |
//! | `prefetch` | the one machine-dependent primitive |
//!
//! [`Key`]: xsort_records::Key

mod caches;
mod classify;
mod extract;
mod gather;
pub mod lines;
mod loser_tree;
mod merge;
mod partition;
mod prefetch;
mod search;
mod sort;
mod splitters;
mod ties;
mod trie;
mod words;

pub use caches::Caches;
pub use extract::common_prefix;
pub use gather::gather;
pub use loser_tree::Node;
pub use merge::{Cursor, Merge, Run};
pub use search::{bound_in_block, bound_in_order, shared_prefix};
pub use sort::sort;
pub use splitters::Splitters;
