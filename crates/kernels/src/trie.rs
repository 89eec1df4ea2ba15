//! Splitters of any length, and finding the bin of any key among them.
//!
//! A trie of words: a node skips the bytes that all its splitters share, and distinguishes them by
//! the next eight bytes. Splitters that are equal there continue in a child. So a lookup reads each
//! byte of the key at most once, however many bytes the splitters share. For example, splitters of
//! twelve bytes, in hexadecimal, and the nodes:
//!
//! ```text
//!   0  0011aaaaaaaaaaaaaaaa0001      root: shares 0011, words aa.., bb..
//!   1  0011aaaaaaaaaaaaaaaa0002        child of aa..: splitters 0 and 1, shares 00, words 01, 02
//!   2  0011bbbbbbbbbbbbbbbb0007        child of bb..: splitter 2, shares 0007, no words
//! ```
//!
//! A lookup finds the bin of one record. `classify` handles many at once, by the root's words
//! alone.

use crate::search::shared_prefix;
use std::cmp::Ordering;
use std::ops::Range;
use xsort_records::Key;

/// Splitters, added in order, and their nodes once they are built.
#[derive(Clone, Debug)]
pub(crate) struct Trie {
    key_bytes: usize,
    /// Normalised splitters, ascending, all different.
    keys: Vec<u8>,
    /// The bin below each splitter, and the last bin. A splitter belongs to the bin that it begins,
    /// the next one.
    below: Vec<u16>,
    /// The nodes. The first is the root; empty if there are no splitters.
    nodes: Vec<Node>,
    /// The words of all nodes, and for each word the splitters that have it.
    words: Vec<u64>,
    groups: Vec<Group>,
}

/// Splitters that share a prefix.
#[derive(Clone, Debug)]
struct Node {
    splitters: Range<usize>,
    shared: SharedBytes,
    /// The node's words in `Trie::words`, ascending; empty if the key ends with the shared bytes.
    words: Range<usize>,
}

/// Key bytes from `from` up to `at`.
#[derive(Clone, Debug)]
pub(crate) struct SharedBytes {
    from: usize,
    pub(crate) at: usize,
    /// These bytes as words, and the mask of the bits that count in the last word.
    words: Vec<u64>,
    last_mask: u64,
}

impl SharedBytes {
    /// The bytes of the normalised key `encoded`.
    fn new(encoded: &[u8], from: usize, at: usize) -> Self {
        let words: Vec<u64> =
            (from..at).step_by(8).map(|from| word_of(&encoded[..at], from)).collect();
        let unused_bits = 8 * (8 * words.len() - (at - from));
        SharedBytes { from, at, words, last_mask: u64::MAX << unused_bits }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns nonzero if the record has other bytes there. Compares all of them, without branching
    /// on their values.
    #[inline(always)]
    pub(crate) fn differs<K: Key>(&self, key: K, record: &[u8]) -> u64 {
        let (mut differ, mut last, mut at) = (0, 0, self.from);
        for word in &self.words {
            differ |= last;
            last = key.word(record, at) ^ word;
            at += 8;
        }
        differ | last & self.last_mask
    }

    /// Compares the record's bytes with these.
    #[inline(always)]
    fn order_of<K: Key>(&self, key: K, record: &[u8]) -> Ordering {
        let (mut at, last) = (self.from, self.words.len().wrapping_sub(1));
        for (place, word) in self.words.iter().enumerate() {
            let mask = if place == last { self.last_mask } else { u64::MAX };
            let order = (key.word(record, at) & mask).cmp(word);
            if order.is_ne() {
                return order;
            }
            at += 8;
        }
        Ordering::Equal
    }
}

/// Splitters of a node that also share a word.
#[derive(Clone, Debug)]
struct Group {
    splitters: Range<usize>,
    /// The child node. `None` if the key ends with the word, which leaves one splitter.
    child: Option<usize>,
}

/// The result of looking up a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Bin(u16),
    /// More bytes decide: call [`Trie::find_bin`] from this node on.
    Undecided(usize),
}

impl Trie {
    /// A trie without splitters: one bin.
    pub(crate) fn new(key_bytes: usize) -> Self {
        let (keys, nodes, words, groups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Trie { key_bytes, keys, below: vec![0], nodes, words, groups }
    }

    /// Adds a splitter. A splitter that is added twice gets its own bin.
    pub(crate) fn add(&mut self, splitter: &[u8]) {
        let bin = self.bins() as u16;
        if let Some(last) = self.len().checked_sub(1) {
            assert!(self.encoded(last) <= splitter, "a sorted sample");
            if self.encoded(last) == splitter {
                self.below[last + 1] = self.below[last] + 2;
                return;
            }
        }
        self.keys.extend(splitter);
        self.below.push(bin);
    }

    pub(crate) fn bins(&self) -> usize {
        usize::from(self.below[self.len()]) + 1
    }

    pub(crate) fn is_one_key(&self, bin: usize) -> bool {
        // A splitter's own bin is neither below a splitter nor the last.
        self.below.binary_search_by(|&below| usize::from(below).cmp(&bin)).is_err()
    }

    /// Number of splitters.
    fn len(&self) -> usize {
        self.below.len() - 1
    }

    /// The normalised key of a splitter.
    fn encoded(&self, splitter: usize) -> &[u8] {
        &self.keys[splitter * self.key_bytes..][..self.key_bytes]
    }

    /// Builds the nodes, level by level. `least` and `greatest` are the smallest and largest key of
    /// the sample.
    pub(crate) fn build(&mut self, least: &[u8], greatest: &[u8]) {
        // The first and last splitter show which bytes all of them share. A single splitter
        // doesn't.
        let at = match self.len() {
            0 => return,
            1 => shared_prefix(least, greatest),
            count => shared_prefix(self.encoded(0), self.encoded(count - 1)),
        };
        // A word that ends with the key is complete and decides.
        let at = at.min(self.key_bytes.saturating_sub(8));
        self.nodes.push(Node {
            splitters: 0..self.len(),
            shared: SharedBytes::new(self.encoded(0), 0, at),
            words: 0..0,
        });
        let mut built = 0;
        while built < self.nodes.len() {
            let first_word = self.words.len();
            if self.nodes[built].shared.at < self.key_bytes {
                self.split(built);
            }
            self.nodes[built].words = first_word..self.words.len();
            built += 1;
        }
    }

    /// Adds the words of a node, and its children.
    fn split(&mut self, node: usize) {
        let (mut splitters, at) = (self.nodes[node].splitters.clone(), self.nodes[node].shared.at);
        while !splitters.is_empty() {
            let word = word_of(self.encoded(splitters.start), at);
            let is_equal = |&splitter: &usize| word_of(self.encoded(splitter), at) == word;
            let group =
                splitters.start..splitters.start + splitters.clone().take_while(is_equal).count();
            splitters.start = group.end;
            let mut child = None;
            if at + 8 < self.key_bytes {
                child = Some(self.nodes.len());
                let shared = shared_prefix(self.encoded(group.start), self.encoded(group.end - 1));
                let shared = SharedBytes::new(self.encoded(group.start), at + 8, shared);
                self.nodes.push(Node { splitters: group.clone(), shared, words: 0..0 });
            }
            self.words.push(word);
            self.groups.push(Group { splitters: group, child });
        }
    }

    /// The bytes that all splitters share before the root's words; empty if there are no splitters.
    pub(crate) fn root_shared(&self) -> SharedBytes {
        self.nodes.first().map_or(SharedBytes::new(&[], 0, 0), |root| root.shared.clone())
    }

    /// The root's words, ascending, all different.
    pub(crate) fn root_words(&self) -> &[u64] {
        self.nodes.first().map_or(&[], |root| &self.words[root.words.clone()])
    }

    /// Looks up a key that has the bytes shared by the root's splitters. Its next word is at least
    /// `passed` of the root's words. `equal` says whether it equals the last of these.
    pub(crate) fn root_lookup(&self, passed: usize, equal: bool) -> Lookup {
        self.nodes.first().map_or(Lookup::Bin(0), |root| self.lookup(root, passed, equal))
    }

    fn lookup(&self, node: &Node, passed: usize, equal: bool) -> Lookup {
        if passed == 0 {
            return Lookup::Bin(self.below[node.splitters.start]);
        }
        let group = &self.groups[node.words.start + passed - 1];
        match group.child {
            _ if !equal => Lookup::Bin(self.below[group.splitters.end]),
            None => Lookup::Bin(self.below[group.splitters.start] + 1),
            Some(child) => Lookup::Undecided(child),
        }
    }

    /// The bin of a record that has the bytes leading to `node`.
    pub(crate) fn find_bin<K: Key>(&self, key: K, record: &[u8], node: usize) -> u16 {
        let mut node = &self.nodes[node];
        loop {
            match node.shared.order_of(key, record) {
                Ordering::Less => return self.below[node.splitters.start],
                Ordering::Greater => return self.below[node.splitters.end],
                Ordering::Equal => {}
            }
            if node.words.is_empty() {
                return self.below[node.splitters.start] + 1;
            }
            let words = &self.words[node.words.clone()];
            let word = key.word(record, node.shared.at);
            let passed = words.partition_point(|&splitter| splitter <= word);
            let equal = passed > 0 && words[passed - 1] == word;
            match self.lookup(node, passed, equal) {
                Lookup::Bin(bin) => return bin,
                Lookup::Undecided(child) => node = &self.nodes[child],
            }
        }
    }
}

/// The eight bytes of `encoded` from `at` on as a big-endian number, zero past its end.
fn word_of(encoded: &[u8], at: usize) -> u64 {
    let rest = &encoded[at..];
    let mut word = [0; 8];
    let bytes = rest.len().min(8);
    word[..bytes].copy_from_slice(&rest[..bytes]);
    u64::from_be_bytes(word)
}
