//! Merging sorted runs with a loser tree that prefetches the heads of its runs.

use xsort_records::Key;

/// One sorted run, or the part of it that takes part in a merge.
#[derive(Clone, Copy, Debug)]
pub enum Run<'a> {
    /// Whole records, in order, in consecutive slices (some may be empty).
    Blocks(&'a [&'a [u8]]),
    /// Records in any order in memory, and the order in which to take them.
    Ordered {
        /// The records.
        records: &'a [u8],
        /// Indexes into `records`, in units of records.
        order: &'a [u64],
    },
}

/// The memory of one run's place in the tree; lent to [`Merge::new`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {}

/// A merge in progress, resumable at any record.
#[derive(Debug)]
pub struct Merge<'a, K> {
    key: K,
    runs: &'a [Run<'a>],
}

impl<'a, K: Key> Merge<'a, K> {
    /// Prepares to merge `runs`. `shared_bytes` is the length of a normalised-key prefix that all records in all runs are known to share
    /// (0 if nothing is known). Records with equal keys come out in the order of the runs, then of their places in the run.
    /// `nodes` is lent; `Merge::nodes_needed(runs.len())` of them.
    pub fn new(
        key: K,
        record_bytes: usize,
        shared_bytes: usize,
        runs: &'a [Run<'a>],
        nodes: &'a mut [Node],
    ) -> Self {
        let _ = (record_bytes, shared_bytes, nodes);
        Merge { key, runs }
    }

    /// How many nodes a merge of `runs` runs needs.
    pub fn nodes_needed(runs: usize) -> usize {
        runs
    }

    /// Writes the next records in order to `out`, as many whole ones as fit or as are left; returns their number.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let _ = (out, &self.key, self.runs);
        unimplemented!()
    }
}
