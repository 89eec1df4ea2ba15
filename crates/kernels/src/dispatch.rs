//! A key as an object, so that the code that reads, forms, spills, cuts and writes runs and bins of
//! records is compiled once. A virtual call covers a chunk, a block of output, or a search. The
//! code that accesses records is compiled for each kind of key: virtual per block, monomorphic per
//! record, as in STXXL.

use crate::caches::Caches;
use crate::extract::common_prefix;
use crate::merge::{Merge, Node, Run};
use crate::search::{bound_in_block, bound_in_order};
use crate::sort::sort;
use crate::splitters::Splitters;
use std::cmp::Ordering;
use xsort_records::{Key, KeyRule};

/// The kernels of one key.
///
/// The first four methods are those of [`Key`], for code that looks at few records.
pub trait RecordKernels: Send + Sync {
    /// Length of the normalised key in bytes.
    fn key_bytes(&self) -> usize;

    /// Writes the normalised key of `record` to `out`, which has that length.
    fn encode(&self, record: &[u8], out: &mut [u8]);

    /// Compares two records by their whole keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// Compares a record's key with a normalised key.
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering;

    /// Length in bytes of the normalised-key prefix that all records share; see [`common_prefix`].
    fn common_prefix(&self, records: &[u8], record_bytes: usize) -> usize;

    /// Sorts records without moving them; see [`sort`].
    fn sort(
        &self,
        records: &[u8],
        record_bytes: usize,
        order: &mut [u64],
        scratch: &mut [u64],
        caches: Caches,
    );

    /// True if no record comes before its predecessor.
    fn is_sorted(&self, records: &[u8], record_bytes: usize) -> bool;

    /// Distributes records into bins without moving them; see [`Splitters::distribute`].
    fn distribute(
        &self,
        splitters: &Splitters,
        records: &[u8],
        record_bytes: usize,
        order: &mut [u64],
        scratch: &mut [u64],
        ends: &mut [usize],
    );

    /// Number of leading records of a sorted block that come before a key; see [`bound_in_block`].
    fn bound_in_block(
        &self,
        block: &[u8],
        record_bytes: usize,
        encoded: &[u8],
        include_equal: bool,
    ) -> usize;

    /// Number of leading elements of an order that come before a key; see [`bound_in_order`].
    fn bound_in_order(
        &self,
        records: &[u8],
        record_bytes: usize,
        order: &[u64],
        encoded: &[u8],
        include_equal: bool,
    ) -> usize;

    /// Prepares a merge of runs; see [`Merge::new`].
    fn merge<'a>(
        &self,
        record_bytes: usize,
        shared_bytes: usize,
        runs: &'a [Run<'a>],
        nodes: &'a mut [Node],
    ) -> Box<dyn RecordMerge + 'a>
    where
        Self: 'a;
}

/// A merge in progress; see [`Merge`].
pub trait RecordMerge {
    /// Writes the next records in order; see [`Merge::fill`].
    fn fill(&mut self, out: &mut [u8]) -> usize;

    /// Writes the indexes of the next records in order; see [`Merge::fill_order`].
    fn fill_order(&mut self, out: &mut [u64]) -> usize;
}

/// The kernels that are compiled for the kind of a rule's key. (Those of the rule itself would look
/// at its kind for each record.)
///
/// Never inlined: a crate that inlines it compiles all of them again.
#[inline(never)]
pub fn kernels_of<'r>(rule: &'r KeyRule<'_>) -> &'r dyn RecordKernels {
    match rule {
        KeyRule::Plain(key) => key,
        KeyRule::Little(key) => key,
        KeyRule::Fields(key) => key,
    }
}

impl<K: Key> RecordKernels for K {
    fn key_bytes(&self) -> usize {
        self.bytes()
    }

    fn encode(&self, record: &[u8], out: &mut [u8]) {
        Key::encode(self, record, out);
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        Key::compare(self, a, b)
    }

    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        Key::compare_encoded(self, record, encoded)
    }

    fn common_prefix(&self, records: &[u8], record_bytes: usize) -> usize {
        common_prefix(*self, records, record_bytes)
    }

    fn sort(
        &self,
        records: &[u8],
        record_bytes: usize,
        order: &mut [u64],
        scratch: &mut [u64],
        caches: Caches,
    ) {
        sort(*self, records, record_bytes, order, scratch, caches);
    }

    fn is_sorted(&self, records: &[u8], record_bytes: usize) -> bool {
        let records = records.chunks_exact(record_bytes);
        records.is_sorted_by(|a, b| Key::compare(self, a, b).is_le())
    }

    fn distribute(
        &self,
        splitters: &Splitters,
        records: &[u8],
        record_bytes: usize,
        order: &mut [u64],
        scratch: &mut [u64],
        ends: &mut [usize],
    ) {
        splitters.distribute(*self, records, record_bytes, order, scratch, ends);
    }

    fn bound_in_block(
        &self,
        block: &[u8],
        record_bytes: usize,
        encoded: &[u8],
        include_equal: bool,
    ) -> usize {
        bound_in_block(*self, block, record_bytes, encoded, include_equal)
    }

    fn bound_in_order(
        &self,
        records: &[u8],
        record_bytes: usize,
        order: &[u64],
        encoded: &[u8],
        include_equal: bool,
    ) -> usize {
        bound_in_order(*self, records, record_bytes, order, encoded, include_equal)
    }

    fn merge<'a>(
        &self,
        record_bytes: usize,
        shared_bytes: usize,
        runs: &'a [Run<'a>],
        nodes: &'a mut [Node],
    ) -> Box<dyn RecordMerge + 'a>
    where
        Self: 'a,
    {
        Box::new(Merge::new(*self, record_bytes, shared_bytes, runs, nodes))
    }
}

impl<K: Key> RecordMerge for Merge<'_, K> {
    fn fill(&mut self, out: &mut [u8]) -> usize {
        Merge::fill(self, out)
    }

    fn fill_order(&mut self, out: &mut [u64]) -> usize {
        Merge::fill_order(self, out)
    }
}
