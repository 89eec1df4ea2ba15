//! An order of lines as an object, so that the code that forms, spills, cuts and writes runs is
//! compiled once. A virtual call covers a chunk, a segment of a merge, or a search. The code that
//! accesses elements is compiled for each order: virtual per block, monomorphic per element, as in
//! STXXL.

use super::check::{CheckedLines, check_lines};
use super::{
    Bound, Deduplicated, Entries, Entry, LineMerge, LineOrder, Lines, Merge, SameBytes, Sorted,
    Words, bound_in_entries, bound_in_text, dedup, sort, sort_only,
};
use crate::caches::Caches;
use std::cmp::Ordering;

/// The settings for sorting a chunk.
#[derive(Clone, Copy, Debug)]
pub struct SortSettings {
    /// The byte at the end of each line.
    pub delimiter: u8,
    /// The caches to which the sort fits its work.
    pub caches: Caches,
    /// True if the sum of the lines' hashes is needed.
    pub needs_hashes: bool,
    /// True if entries must keep the first words of their keys. Otherwise words may consist of the
    /// bytes that differ.
    pub keeps_words: bool,
}

/// The kernels of one order of lines.
///
/// Entries lie in memory that is also used otherwise. So they are passed as bytes, aligned for
/// [`Entry`], [`entry_bytes`](LineKernels::entry_bytes) for each line.
pub trait LineKernels: Sync {
    /// Size of an entry in bytes.
    fn entry_bytes(&self) -> usize;

    /// The average length of lines from which on it is cheaper to move a sorted chunk's lines into
    /// order than to leave them in place; see [`LineOrder::arranged_from`].
    fn arranged_from(&self) -> Option<usize>;

    /// True if the first word of a line costs less than a comparison; see
    /// [`LineOrder::has_cheap_words`].
    fn has_cheap_words(&self) -> bool;

    /// True if comparing two prebuilt keys is cheaper than comparing the lines they were built
    /// from.
    fn has_costly_keys(&self) -> bool;

    /// Builds an entry for each line of `text`, and sorts the entries; see [`sort`] and
    /// [`sort_only`].
    fn sort(
        &self,
        text: &[u8],
        entries: &mut [u8],
        buffer: &mut [u8],
        settings: SortSettings,
    ) -> Sorted;

    /// Moves the first of each group of entries with the same key to the front; see [`dedup`].
    fn dedup(&self, text: &[u8], delimiter: u8, entries: &mut [u8]) -> Deduplicated;

    /// Prepares a merge of runs; see [`Merge::new`].
    fn merge<'a>(
        &'a self,
        delimiter: u8,
        is_unique: bool,
        runs: &'a [Lines<'a>],
        ends: Option<(&'a [u8], &'a [u8])>,
        same: Option<&SameBytes>,
    ) -> Box<dyn LineMerge<'a> + 'a>;

    /// Returns a comparer for one thread, with its own memory.
    fn comparer(&self) -> Box<dyn LineComparer + '_>;
}

/// Compares lines, one pair or one search at a time.
pub trait LineComparer: Send {
    /// Compares two lines.
    fn compare(&mut self, a: &[u8], b: &[u8]) -> Ordering;

    /// True if two lines have the same key.
    fn same(&mut self, a: &[u8], b: &[u8]) -> bool;

    /// Returns eight bytes of the normalised key from byte `skip` on. The line is the first `bytes`
    /// bytes of `tail`.
    fn word(&mut self, tail: &[u8], bytes: usize, skip: usize) -> u64;

    /// Appends the line's whole normalised key, if the order has costly keys.
    fn push_key(&mut self, line: &[u8], key: &mut Vec<u8>);

    /// Number of leading entries whose lines come before `bound`.
    fn bound_in_entries(
        &mut self,
        text: &[u8],
        delimiter: u8,
        entries: Entries<'_>,
        bound: Bound<'_>,
    ) -> usize;

    /// Number of leading bytes of a sorted text whose lines come before `bound`. `expected` is an
    /// estimate of the result.
    fn bound_in_text(
        &mut self,
        text: &[u8],
        delimiter: u8,
        bound: Bound<'_>,
        expected: usize,
    ) -> usize;

    /// Compares each line of `text` with the preceding one, up to the first that is out of order.
    /// With `is_unique`, a line equal to the preceding one is out of order.
    fn check(&mut self, text: &[u8], delimiter: u8, is_unique: bool) -> CheckedLines;
}

impl<O: LineOrder> LineKernels for O {
    fn entry_bytes(&self) -> usize {
        size_of::<Entry<O::Words>>()
    }

    fn arranged_from(&self) -> Option<usize> {
        LineOrder::arranged_from(self)
    }

    fn has_cheap_words(&self) -> bool {
        LineOrder::has_cheap_words(self)
    }

    fn has_costly_keys(&self) -> bool {
        self.has_dear_keys()
    }

    fn sort(
        &self,
        text: &[u8],
        entries: &mut [u8],
        buffer: &mut [u8],
        settings: SortSettings,
    ) -> Sorted {
        let SortSettings { delimiter, caches, needs_hashes, keeps_words } = settings;
        let entries: &mut [Entry<O::Words>] = bytemuck::cast_slice_mut(entries);
        let buffer = bytemuck::cast_slice_mut(buffer);
        if keeps_words {
            let sum = sort(self, text, delimiter, entries, buffer, caches, needs_hashes);
            return Sorted { sum, same: None };
        }
        sort_only(self, text, delimiter, entries, buffer, caches, needs_hashes)
    }

    fn dedup(&self, text: &[u8], delimiter: u8, entries: &mut [u8]) -> Deduplicated {
        dedup(self, text, delimiter, bytemuck::cast_slice_mut(entries))
    }

    fn merge<'a>(
        &'a self,
        delimiter: u8,
        is_unique: bool,
        runs: &'a [Lines<'a>],
        ends: Option<(&'a [u8], &'a [u8])>,
        same: Option<&SameBytes>,
    ) -> Box<dyn LineMerge<'a> + 'a> {
        Box::new(Merge::new(self, delimiter, is_unique, runs, ends, same))
    }

    fn comparer(&self) -> Box<dyn LineComparer + '_> {
        Box::new(Comparer { order: self, scratch: O::Scratch::default() })
    }
}

/// An order, with one thread's memory for comparisons.
struct Comparer<'o, O: LineOrder> {
    order: &'o O,
    scratch: O::Scratch,
}

impl<O: LineOrder> LineComparer for Comparer<'_, O> {
    fn compare(&mut self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare(a, b, &mut self.scratch)
    }

    fn same(&mut self, a: &[u8], b: &[u8]) -> bool {
        self.order.same(a, b, &mut self.scratch)
    }

    fn word(&mut self, tail: &[u8], bytes: usize, skip: usize) -> u64 {
        self.order.word_of(tail, bytes, skip, &mut self.scratch)
    }

    fn push_key(&mut self, line: &[u8], key: &mut Vec<u8>) {
        self.order.push_key(line, &mut self.scratch, key);
    }

    fn bound_in_entries(
        &mut self,
        text: &[u8],
        delimiter: u8,
        entries: Entries<'_>,
        bound: Bound<'_>,
    ) -> usize {
        let entries = O::Words::typed(entries);
        bound_in_entries(self.order, text, delimiter, entries, bound, &mut self.scratch)
    }

    fn bound_in_text(
        &mut self,
        text: &[u8],
        delimiter: u8,
        bound: Bound<'_>,
        expected: usize,
    ) -> usize {
        bound_in_text(self.order, text, delimiter, bound, expected, &mut self.scratch)
    }

    fn check(&mut self, text: &[u8], delimiter: u8, is_unique: bool) -> CheckedLines {
        check_lines(self.order, text, delimiter, is_unique, &mut self.scratch)
    }
}
