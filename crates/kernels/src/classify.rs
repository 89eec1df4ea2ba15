//! Finding the bins of many records at once, by one word of their keys.
//!
//! This is super scalar samplesort (Sanders and Winkel, ESA 2004). Splitters form an implicit tree
//! in memory. A record descends without branching on comparisons, `k = 2k + (splitter <= word)`,
//! and several records descend together, so that their loads overlap. Records that one word does
//! not decide are added to a list, also without a branch. At the end of the batch, `trie` finds
//! their bins.

use crate::prefetch;
use crate::trie::{Lookup, SharedBytes, Trie};
use xsort_records::Key;

/// Number of records classified at a time. 32 to 256 measure the same.
pub(crate) const BATCH: usize = 64;
/// Number of records that descend the tree together. 1.3 million records of 100 bytes to 512 bins
/// take 11.9 ns each with 8, 13.0 with 4 and 13.6 with 16 (2-core Xeon, other load on it,
/// 2026-11-21).
const LANES: usize = 8;
const _: () = assert!(BATCH.is_multiple_of(LANES) && BATCH <= 1 << u8::BITS);
/// Number of records prefetched ahead; 32 to 128 measure the same. Without prefetching, records of
/// 100 bytes take 2 ns more and records of 4,096 bytes 9 ns more. The key's position in the record
/// isn't known here, so the record's first line is prefetched; the processor finds the other lines
/// of short records.
const AHEAD: usize = 64;
/// Set in an outcome that is the number of a node instead of a bin.
const UNDECIDED: u32 = 1 << 31;
/// The outcome of a record without the prefix that the root's splitters share: look it up from the
/// root.
const MISMATCH: u32 = UNDECIDED;

/// The root of a trie, in a form for fast search; drawn for the words a to g.
///
/// ```text
///            d            breadth first from place 1, padded with the largest word;
///         /     \         down to the right if word >= splitter
///        b       f
///       / \     / \
///      a   c   e   g
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// The bytes that all splitters share before their words.
    shared: SharedBytes,
    levels: u32,
    /// `1 << levels` splitters.
    splitters: Vec<u64>,
    /// The outcome for each number of passed splitters; `1 << levels` leaves.
    leaves: Vec<Leaf>,
}

/// The end of a word's descent of the tree.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// The last splitter passed. If none was passed, the value is irrelevant, because both outcomes
    /// are then equal.
    passed: u64,
    /// The outcomes for a word that differs from `passed`, and for a word equal to it. Each is a
    /// bin, or a node with `UNDECIDED` set.
    outcomes: [u32; 2],
}

impl Tree {
    pub(crate) fn new(trie: &Trie) -> Self {
        let words = trie.root_words();
        let levels = (words.len() + 1).next_power_of_two().ilog2();
        let mut splitters = vec![u64::MAX; 1 << levels];
        for level in 0..levels {
            let stride = 1 << (levels - level);
            for (place, splitter) in splitters[1 << level..2 << level].iter_mut().enumerate() {
                *splitter = words.get(place * stride + stride / 2 - 1).copied().unwrap_or(u64::MAX);
            }
        }
        let outcome = |passed, equal| match trie.root_lookup(passed, equal) {
            Lookup::Bin(bin) => u32::from(bin),
            Lookup::Undecided(node) => UNDECIDED | node as u32,
        };
        let leaf = |passed: usize| {
            // The largest word also passes the padding.
            let passed = passed.min(words.len());
            let last = passed.checked_sub(1).map_or(0, |last| words[last]);
            Leaf { passed: last, outcomes: [outcome(passed, false), outcome(passed, true)] }
        };
        let leaves = (0..1 << levels).map(leaf).collect();
        Tree { shared: trie.root_shared(), levels, splitters, leaves }
    }

    /// Finds the bins of at most `BATCH` records. `bins` has one element for each record.
    #[inline(always)]
    pub(crate) fn classify<K: Key>(
        &self,
        key: K,
        records: &[u8],
        record_bytes: usize,
        trie: &Trie,
        bins: &mut [u32],
    ) {
        let mut undecided = [0; BATCH];
        let undecided = if self.shared.is_empty() {
            self.descend_all::<K, false>(key, records, record_bytes, bins, &mut undecided)
        } else {
            self.descend_all::<K, true>(key, records, record_bytes, bins, &mut undecided)
        };
        for &place in undecided {
            let place = usize::from(place);
            let record = &records[place * record_bytes..][..record_bytes];
            bins[place] = trie.find_bin(key, record, (bins[place] & !UNDECIDED) as usize).into();
        }
    }

    /// Finds the outcomes. Returns the positions of the undecided ones.
    #[inline(always)]
    fn descend_all<'u, K: Key, const SHARED: bool>(
        &self,
        key: K,
        records: &[u8],
        record_bytes: usize,
        outcomes: &mut [u32],
        undecided: &'u mut [u8; BATCH],
    ) -> &'u [u8] {
        let mut count = 0;
        let groups = records.chunks(LANES * record_bytes).zip(outcomes.chunks_mut(LANES));
        for (group, (records, outcomes)) in groups.enumerate() {
            let (mut words, mut differ) = ([0; LANES], [0; LANES]);
            for (lane, record) in records.chunks_exact(record_bytes).enumerate() {
                prefetch::line(record.as_ptr().wrapping_add(AHEAD * record_bytes + self.shared.at));
                words[lane] = key.word(record, self.shared.at);
                if SHARED {
                    differ[lane] = self.shared.differs(key, record);
                }
            }
            let found = self.descend(&words);
            for (lane, outcome) in outcomes.iter_mut().enumerate() {
                *outcome = if SHARED && differ[lane] != 0 { MISMATCH } else { found[lane] };
                undecided[count] = (LANES * group + lane) as u8;
                count += (*outcome / UNDECIDED) as usize;
            }
        }
        &undecided[..count]
    }

    /// Returns the outcomes of some words.
    #[inline(always)]
    fn descend(&self, words: &[u64; LANES]) -> [u32; LANES] {
        // The masks don't change the values, but let the compiler omit bounds checks.
        let mask = self.splitters.len() - 1;
        let leaves = &self.leaves[..self.splitters.len()];
        let mut places = [1; LANES];
        for _ in 0..self.levels {
            for (place, &word) in places.iter_mut().zip(words) {
                // In this form, the comparison yields a carry, which the processor subtracts for
                // free.
                *place = 2 * *place + 1 - usize::from(word < self.splitters[*place & mask]);
            }
        }
        let mut outcomes = [0; LANES];
        for ((outcome, &place), &word) in outcomes.iter_mut().zip(&places).zip(words) {
            let leaf = &leaves[place & mask];
            *outcome = leaf.outcomes[usize::from(word == leaf.passed)];
        }
        outcomes
    }
}
