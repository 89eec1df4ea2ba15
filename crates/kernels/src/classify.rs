//! The bins of many records at once, by one word of their keys.
//!
//! Super scalar samplesort (Sanders and Winkel, ESA 2004): splitters lie in memory as an implicit tree, and a record goes down without a
//! branch on what it meets, `k = 2k + (splitter <= word)`; several records go down side by side, so that their loads overlap. What
//! one word does not decide is put on a list, without a branch too, and `trie` settles it at the end of the batch.

use crate::trie::{Trie, Verdict, mask_of, word_of};
use xsort_records::Key;

/// Records classified at a time.
pub(crate) const BATCH: usize = 64;
/// Records that go down the tree side by side.
const LANES: usize = 8;
const _: () = assert!(BATCH.is_multiple_of(LANES));
/// Set in an outcome that is no bin but the number of a node.
const UNDECIDED: u32 = 1 << 31;
/// What is known of a record that does not share the root's prefix.
const STRANGER: u32 = UNDECIDED;

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
    /// The words of the bytes that all splitters share before their words in the tree, and which bits of the last one count.
    prefix: Vec<u64>,
    prefix_mask: u64,
    /// Where in the key the tree's words begin, in bytes.
    at: usize,
    levels: u32,
    /// `1 << levels` splitters.
    splitters: Vec<u64>,
    /// The last splitter passed, by the number of those passed. If none is, that is the first one, which the word is not equal to.
    passed: Vec<u64>,
    /// By twice the number of splitters passed, plus one if the last is equal: a bin, or a node and `UNDECIDED`.
    outcomes: Vec<u32>,
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
        let first = words.first().copied().unwrap_or(0);
        let outcomes = (0..=words.len())
            .flat_map(|passed| [(passed, false), (passed, true)])
            .map(|(passed, equal)| match trie.root_verdict(passed, equal) {
                Verdict::Bin(bin) => u32::from(bin),
                Verdict::Undecided(node) => UNDECIDED | node as u32,
            })
            .collect();
        let prefix = trie.root_prefix();
        let at = prefix.len();
        Tree {
            prefix: (0..at).step_by(8).map(|at| word_of(prefix, at)).collect(),
            prefix_mask: if at == 0 { 0 } else { mask_of((at - 1) % 8 + 1) },
            at,
            levels,
            splitters,
            passed: std::iter::once(first).chain(words.iter().copied()).collect(),
            outcomes,
        }
    }

    /// Gives the bins of at most `BATCH` records.
    pub(crate) fn classify<K: Key>(
        &self,
        key: K,
        records: &[u8],
        record_bytes: usize,
        trie: &Trie,
        bins: &mut [u16],
    ) {
        let mut outcomes = [0; BATCH];
        let outcomes = &mut outcomes[..bins.len()];
        if self.prefix.is_empty() {
            self.descend_all::<K, false>(key, records, record_bytes, outcomes);
        } else {
            self.descend_all::<K, true>(key, records, record_bytes, outcomes);
        }
        let (mut undecided, mut count) = ([0; BATCH], 0);
        for (place, (bin, &outcome)) in bins.iter_mut().zip(&*outcomes).enumerate() {
            *bin = outcome as u16;
            undecided[count] = place;
            count += usize::from(outcome & UNDECIDED != 0);
        }
        for &place in &undecided[..count] {
            let record = &records[place * record_bytes..][..record_bytes];
            bins[place] = trie.settle(key, record, (outcomes[place] & !UNDECIDED) as usize);
        }
    }

    #[inline(always)]
    fn descend_all<K: Key, const PREFIX: bool>(
        &self,
        key: K,
        records: &[u8],
        record_bytes: usize,
        outcomes: &mut [u32],
    ) {
        let mut words = [0; BATCH];
        let mut differ = [0; BATCH];
        for ((word, differ), record) in
            words.iter_mut().zip(&mut differ).zip(records.chunks_exact(record_bytes))
        {
            *word = key.word(record, self.at);
            if PREFIX {
                *differ = self.prefix_differs(key, record);
            }
        }
        let groups = words.chunks_exact(LANES).zip(differ.chunks_exact(LANES));
        for ((words, differ), outcomes) in groups.zip(outcomes.chunks_mut(LANES)) {
            let words = words.try_into().expect("lanes");
            let found = self.descend(words);
            for ((outcome, found), differ) in outcomes.iter_mut().zip(found).zip(differ) {
                *outcome = if PREFIX && *differ != 0 { STRANGER } else { found };
            }
        }
    }

    /// The outcomes of some words.
    #[inline(always)]
    fn descend(&self, words: &[u64; LANES]) -> [u32; LANES] {
        let mut places = [1; LANES];
        for _ in 0..self.levels {
            for (place, &word) in places.iter_mut().zip(words) {
                // The mask, which changes nothing, spares the check of the bound.
                let splitter = self.splitters[*place & (self.splitters.len() - 1)];
                *place = 2 * *place + usize::from(splitter <= word);
            }
        }
        std::array::from_fn(|lane| {
            // The largest word passes the padding too.
            let passed = (places[lane] - (1 << self.levels)).min(self.passed.len() - 1);
            let equal = self.passed[passed] == words[lane];
            self.outcomes[2 * passed + usize::from(equal)]
        })
    }

    /// Nonzero if the bytes before the record's word in the tree are others than the splitters'.
    #[inline(always)]
    fn prefix_differs<K: Key>(&self, key: K, record: &[u8]) -> u64 {
        let mut differ = 0;
        let mut last = 0;
        for (place, &word) in self.prefix.iter().enumerate() {
            differ |= last;
            last = key.word(record, 8 * place) ^ word;
        }
        differ | last & self.prefix_mask
    }
}
