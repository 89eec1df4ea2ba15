//! The bins of many records at once, by one word of their keys.
//!
//! Super scalar samplesort (Sanders and Winkel, ESA 2004): splitters lie in memory as an implicit
//! tree, and a record goes down without a branch on what it meets, `k = 2k + (splitter <= word)`;
//! several records go down side by side, so that their loads overlap. Records that one
//! word does not decide go on a list, also without a branch, and `trie` finds their bins at the end
//! of the batch.

use crate::prefetch;
use crate::trie::{Lookup, SharedBytes, Trie};
use xsort_records::Key;

/// Records classified at a time. 32 to 256 measure the same.
pub(crate) const BATCH: usize = 64;
/// Records that go down the tree side by side. 1.3 million records of 100 bytes to 512 bins take
/// 11.9 ns each with 8, 13.0 with 4 and 13.6 with 16 (2-core Xeon, other load on it, 2026-11-21).
const LANES: usize = 8;
const _: () = assert!(BATCH.is_multiple_of(LANES) && BATCH <= 1 << u8::BITS);
/// Records prefetched ahead; 32 to 128 measure the same. Without, records of 100 bytes take 2 ns
/// more and those of 4,096 bytes 9. Where in the record the key begins is not known here, so it is
/// the record's first line: of short records the processor finds the others.
const AHEAD: usize = 64;
/// Set in an outcome that is no bin but the number of a node.
const UNDECIDED: u32 = 1 << 31;
/// The outcome of a record that does not share what the root's splitters share: look it up from the
/// root.
const MISMATCH: u32 = UNDECIDED;

/// The root of a trie, made for speed; drawn for the words a to g.
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
    /// What all splitters share before their words.
    shared: SharedBytes,
    levels: u32,
    /// `1 << levels` splitters.
    splitters: Vec<u64>,
    /// As many: the outcome for each number of splitters passed.
    leaves: Vec<Leaf>,
}

/// Where a word ends that has gone down the tree.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// The last splitter passed; if none is, a number that means nothing, for both outcomes are the
    /// same then.
    passed: u64,
    /// If the word is not equal to it, and if it is: a bin, or a node and `UNDECIDED`.
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
            // The largest word passes the padding too.
            let passed = passed.min(words.len());
            let last = passed.checked_sub(1).map_or(0, |last| words[last]);
            Leaf { passed: last, outcomes: [outcome(passed, false), outcome(passed, true)] }
        };
        let leaves = (0..1 << levels).map(leaf).collect();
        Tree { shared: trie.root_shared(), levels, splitters, leaves }
    }

    /// Gives the bins of at most `BATCH` records, as many as `bins`.
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

    /// Gives the outcomes, and returns where those are that are undecided.
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

    /// The outcomes of some words.
    #[inline(always)]
    fn descend(&self, words: &[u64; LANES]) -> [u32; LANES] {
        // The masks change nothing, but spare the checks of bounds.
        let mask = self.splitters.len() - 1;
        let leaves = &self.leaves[..self.splitters.len()];
        let mut places = [1; LANES];
        for _ in 0..self.levels {
            for (place, &word) in places.iter_mut().zip(words) {
                // Written this way, the comparison is one carry, which the processor subtracts for
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
