//! Sorting, gathering, merging and searching records in memory.
//!
//! There is no I/O, no thread and no clock. The caller lends all memory that grows with the data.
//! An inconsistent [`Key`] gives a wrong order, but each record still comes out exactly once, and
//! only lent memory is accessed.
//!
//! | file | idea |
//! |---|---|
//! | `sort` | the outline: extract words, partition once, sort buckets, break ties |
//! | `extract` | one pass over the records: key words, shared prefix, existing order |
//! | `partition` | one most-significant-digit pass that prefetches the lines it writes |
//! | `words` | sorting distinct u64s in buckets that fit the cache |
//! | `caches` | the cache sizes that buckets are fitted to |
//! | `ties` | comparing further key bytes within groups of equal words, without recursion |
//! | `splitters` | distributing records to bins between sampled keys |
//! | `classify` | the bins of many records at once, by one key word, without branches |
//! | `trie` | the bin of one record by its whole key |
//! | `gather` | moving payloads once, into final order |
//! | `lines` | these algorithms for lines of text |
//! | `loser_tree`, `merge` | the k-way merge and its cursors |
//! | `search` | binary search in one sorted sequence, for cutting a merge |
//! | `dispatch` | all of these as one object for each kind of key |
//! | `prefetch` | loading memory into the caches ahead of its use |
//!
//! [`Key`]: xsort_records::Key

mod caches;
mod classify;
mod dispatch;
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
pub use dispatch::{RecordKernels, RecordMerge, kernels_of};
pub use extract::common_prefix;
pub use gather::gather;
pub use merge::{Cursor, Merge, Node, Run, nodes_needed};
pub use search::{bound_in_block, bound_in_order, shared_prefix};
pub use sort::sort;
pub use splitters::Splitters;
