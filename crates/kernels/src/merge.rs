//! Merging sorted runs with a loser tree and prefetching.
//!
//! A merge reads from all of its runs at once, each slowly. No hardware prefetcher follows 500
//! streams, so each cursor prefetches its own records a few ahead (a fifth of the time at 128 runs,
//! 27 ns a record instead of 148). Payloads are copied once, from the runs to the output. A merge
//! never waits and never reads a file: it has all of its runs, and is done when `fill` writes fewer
//! records than would fit.
#![allow(unsafe_code)]

use crate::gather::gather;
use crate::loser_tree::{self, HeadKey};
use crate::prefetch;
use xsort_records::Key;

/// A sorted run, or the part of it that takes part in a merge.
#[derive(Clone, Copy, Debug)]
pub enum Run<'a> {
    /// Whole records, in order, in consecutive slices (some may be empty).
    Blocks(&'a [&'a [u8]]),
    /// Records in any order in memory, and the indexes that order them.
    Ordered {
        /// The records.
        records: &'a [u8],
        /// Indexes into `records`, in units of records.
        order: &'a [u64],
    },
}

/// Number of records that a cursor prefetches ahead. For runs in blocks with 100 bytes a record, in
/// ns a record at 2, 32 and 512 runs: one ahead takes 15, 20 and 39; two 13, 21 and 40; four 12, 19
/// and 38. Eight take 11, 21 and 57, because the lines evict each other (2-core Xeon, 48 KiB L1,
/// 2026-11-21).
const AHEAD: usize = 4;
/// Number of output bytes prefetched ahead, as in `gather`.
const AHEAD_OUT_BYTES: usize = 512;

/// A node of the loser tree, with a cursor: the memory that a merge needs for each run.
pub type Node = loser_tree::Node<Cursor>;

/// The position of a merge in one run.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// The head: while `remaining > 0`, the first of `record_bytes` readable bytes inside the run.
    head: *const u8,
    /// Number of records left in the current block or in the order, including the head. 0 means
    /// that the run is exhausted.
    remaining: usize,
    /// For `Blocks`, the number of the next block. For `Ordered`, the place of the head in the
    /// order.
    next: usize,
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor { head: std::ptr::null(), remaining: 0, next: 0 }
    }
}

// SAFETY: the pointer is read only by the `Merge` that holds the borrow of the runs that it points
// into; shared bytes may be read from any thread.
unsafe impl Send for Cursor {}
// SAFETY: a shared cursor offers no access through its pointer.
unsafe impl Sync for Cursor {}

/// A merge in progress, resumable at any record.
#[derive(Debug)]
pub struct Merge<'a, K> {
    key: K,
    record_bytes: usize,
    /// The byte at which the word of a head starts in its key.
    at: usize,
    order: Order,
    runs: &'a [Run<'a>],
    /// One node for each leaf: a power of two.
    nodes: &'a mut [Node],
    /// The run whose head is the next output.
    winner: HeadKey,
    /// Number of runs that have a head.
    live: usize,
}

/// How heads are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Heads are not compared: all keys are equal, and the runs are concatenated.
    Runs,
    /// One word is compared, which is the whole key.
    Word,
    /// The bytes of a head key are compared, which are the whole key.
    Words,
    /// The bytes of a head key are compared; if they are equal, whole keys.
    WordsThenKeys,
}

impl<'a, K: Key> Merge<'a, K> {
    /// Prepares to merge `runs`. `shared_bytes` is the length of a normalised-key prefix that all
    /// records are known to share (0 if nothing is known). Records with equal keys come out in the
    /// order of the runs, then of their places in the run. The caller lends `nodes`,
    /// [`nodes_needed`] of them.
    ///
    /// # Panics
    /// If there are too few nodes, or if a block does not hold whole records of `record_bytes`
    /// bytes. `fill` panics if an order contains an invalid index.
    pub fn new(
        key: K,
        record_bytes: usize,
        shared_bytes: usize,
        runs: &'a [Run<'a>],
        nodes: &'a mut [Node],
    ) -> Self {
        assert!(record_bytes > 0, "records have bytes");
        let nodes = &mut nodes[..nodes_needed(runs.len())];
        nodes.fill(Node::default());
        let order = match key.bytes() {
            bytes if bytes <= shared_bytes => Order::Runs,
            bytes if bytes - shared_bytes <= 8 => Order::Word,
            bytes if bytes - shared_bytes <= loser_tree::KEY_BYTES => Order::Words,
            _ => Order::WordsThenKeys,
        };
        let winner = HeadKey::exhausted(0);
        let mut merge =
            Merge { key, record_bytes, at: shared_bytes, order, runs, nodes, winner, live: 0 };
        for (run, &pieces) in runs.iter().enumerate() {
            if let Run::Blocks(blocks) = pieces {
                assert!(
                    blocks.iter().all(|block| block.len().is_multiple_of(record_bytes)),
                    "whole records"
                );
            }
            merge.open(run);
            merge.live += usize::from(merge.nodes[run].cursor.remaining > 0);
        }
        merge.winner = match order {
            Order::Runs => merge.next_run(0),
            Order::Word => merge.build_tree::<1, false>(),
            Order::Words => merge.build_tree::<2, false>(),
            Order::WordsThenKeys => merge.build_tree::<2, true>(),
        };
        merge
    }

    /// Writes the next records in order to `out`, as many whole ones as fit or are left. Returns
    /// their number.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let fit = out.len() / self.record_bytes;
        let out = &mut out[..fit * self.record_bytes];
        let record_bytes = self.record_bytes;
        let put = |_, node: &Node, to: &mut [u8]| {
            prefetch::record_to_write(to.as_ptr().wrapping_add(AHEAD_OUT_BYTES), record_bytes);
            to.copy_from_slice(node.cursor.record(record_bytes).expect("a winner has a head"));
        };
        let places = out.chunks_exact_mut(record_bytes);
        let mut written = match self.order {
            Order::Runs => 0,
            Order::Word => self.fill_by_matches::<_, 1, false>(places, put),
            Order::Words => self.fill_by_matches::<_, 2, false>(places, put),
            Order::WordsThenKeys => self.fill_by_matches::<_, 2, true>(places, put),
        };
        // Only one run is left, or runs are concatenated.
        while written < fit && self.live > 0 && (self.live == 1 || self.order == Order::Runs) {
            written += self.copy_many(&mut out[written * self.record_bytes..]);
        }
        written
    }

    /// Writes the indexes of the next records in order to `out`, as many as fit or are left.
    /// Returns their number. All runs must be [`Run::Ordered`].
    ///
    /// # Panics
    /// If a run isn't.
    pub fn fill_order(&mut self, out: &mut [u64]) -> usize {
        let indexes = |run: &Run<'a>| match *run {
            Run::Ordered { order, .. } => order,
            Run::Blocks(_) => panic!("records in blocks have no indexes"),
        };
        let runs = self.runs;
        let put = |run: usize, node: &Node, to: &mut u64| {
            *to = indexes(&runs[run])[node.cursor.next];
        };
        let mut written = match self.order {
            Order::Runs => 0,
            Order::Word => self.fill_by_matches::<_, 1, false>(out.iter_mut(), put),
            Order::Words => self.fill_by_matches::<_, 2, false>(out.iter_mut(), put),
            Order::WordsThenKeys => self.fill_by_matches::<_, 2, true>(out.iter_mut(), put),
        };
        while written < out.len() && self.live > 0 && (self.live == 1 || self.order == Order::Runs)
        {
            let run = self.winner.run();
            let cursor = &self.nodes[run].cursor;
            let from = cursor.next;
            let count = cursor.remaining.min(out.len() - written);
            out[written..][..count].copy_from_slice(&indexes(&runs[run])[from..from + count]);
            self.skip(run, count);
            written += count;
        }
        written
    }

    /// Merges while there are at least two live runs. `put` writes the head of a run to each place.
    /// Returns the number of records written.
    fn fill_by_matches<T, const WORDS: usize, const TIES: bool>(
        &mut self,
        out: impl Iterator<Item = T>,
        put: impl Fn(usize, &Node, T),
    ) -> usize {
        let (key, record_bytes) = (self.key, self.record_bytes);
        let first_wins = |nodes: &[Node], a, b| first_wins(key, record_bytes, nodes, a, b);
        let mut written = 0;
        for to in out {
            if self.live < 2 {
                break;
            }
            let run = self.winner.run();
            put(run, &self.nodes[run], to);
            let head_key = self.advance::<WORDS>(run);
            written += 1;
            // An equal whole key wins again. With 16 different keys in 512 runs this takes 16 ns a
            // record instead of 24; with uniform keys the time is unchanged (2-core Xeon,
            // 2026-11-21).
            if !TIES && head_key == self.winner {
                continue;
            }
            self.winner = loser_tree::replay::<_, TIES>(self.nodes, head_key, first_wins);
        }
        written
    }

    fn build_tree<const WORDS: usize, const TIES: bool>(&mut self) -> HeadKey {
        let (key, record_bytes, at) = (self.key, self.record_bytes, self.at);
        loser_tree::build::<_, TIES>(
            self.nodes,
            |nodes, run| nodes[run].cursor.head_key::<K, WORDS>(key, record_bytes, at, run),
            |nodes: &[Node], a, b| first_wins(key, record_bytes, nodes, a, b),
        )
    }

    /// Advances the cursor of `run` by a record. Returns its new head key.
    #[inline(always)]
    fn advance<const WORDS: usize>(&mut self, run: usize) -> HeadKey {
        let cursor = &mut self.nodes[run].cursor;
        cursor.remaining -= 1;
        if cursor.remaining == 0 {
            self.refill(run);
        } else {
            match self.runs[run] {
                Run::Blocks(_) => {
                    // Inside the block: `remaining` counts whole records in it.
                    cursor.head = cursor.head.wrapping_add(self.record_bytes);
                    let later = cursor.head.wrapping_add(AHEAD * self.record_bytes);
                    prefetch::record(later, self.record_bytes);
                }
                Run::Ordered { records, order } => {
                    cursor.next += 1;
                    cursor.head = locate(records, self.record_bytes, order[cursor.next]);
                    if let Some(&later) = order.get(cursor.next + AHEAD) {
                        let start = (later as usize).wrapping_mul(self.record_bytes);
                        prefetch::record(records.as_ptr().wrapping_add(start), self.record_bytes);
                    }
                }
            }
        }
        self.nodes[run].cursor.head_key::<K, WORDS>(self.key, self.record_bytes, self.at, run)
    }

    /// Called when the current block or order of `run` is used up: opens the next block, if there
    /// is one.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, run: usize) {
        if matches!(self.runs[run], Run::Blocks(_)) {
            self.open(run);
        }
        self.live -= usize::from(self.nodes[run].cursor.remaining == 0);
    }

    /// Moves the cursor of `run` to its first record, or to the first record after the current
    /// block.
    fn open(&mut self, run: usize) {
        let cursor = &mut self.nodes[run].cursor;
        match self.runs[run] {
            Run::Blocks(blocks) => {
                cursor.remaining = 0;
                while cursor.remaining == 0
                    && let Some(block) = blocks.get(cursor.next)
                {
                    cursor.next += 1;
                    cursor.remaining = block.len() / self.record_bytes;
                    cursor.head = block.as_ptr();
                }
            }
            Run::Ordered { records, order } => {
                cursor.remaining = order.len();
                if let Some(&first) = order.first() {
                    cursor.head = locate(records, self.record_bytes, first);
                }
            }
        }
    }

    /// Copies the rest of the winner's current block or order without matches, as far as it fits.
    /// Returns the number of records.
    fn copy_many(&mut self, out: &mut [u8]) -> usize {
        let run = self.winner.run();
        let cursor = &self.nodes[run].cursor;
        let count = cursor.remaining.min(out.len() / self.record_bytes);
        let out = &mut out[..count * self.record_bytes];
        match self.runs[run] {
            Run::Blocks(blocks) => {
                let block = blocks[cursor.next - 1];
                let from = block.len() - cursor.remaining * self.record_bytes;
                out.copy_from_slice(&block[from..][..out.len()]);
            }
            Run::Ordered { records, order } => {
                gather(records, self.record_bytes, &order[cursor.next..][..count], out);
            }
        }
        self.skip(run, count);
        count
    }

    /// Advances the winner, `run`, by `count` records of its current block or order.
    fn skip(&mut self, run: usize, count: usize) {
        let cursor = &mut self.nodes[run].cursor;
        cursor.remaining -= count;
        match self.runs[run] {
            Run::Blocks(_) => {
                cursor.head = cursor.head.wrapping_add(count * self.record_bytes);
            }
            Run::Ordered { records, order } => {
                cursor.next += count;
                if let Some(&next) = order.get(cursor.next) {
                    cursor.head = locate(records, self.record_bytes, next);
                }
            }
        }
        if self.nodes[run].cursor.remaining == 0 {
            self.refill(run);
            if self.order == Order::Runs && self.nodes[run].cursor.remaining == 0 {
                self.winner = self.next_run(run + 1);
            }
        }
    }

    /// The first live run from `run` on.
    fn next_run(&self, run: usize) -> HeadKey {
        let live = (run..self.runs.len()).find(|&run| self.nodes[run].cursor.remaining > 0);
        live.map_or(HeadKey::exhausted(0), |run| HeadKey::new(0, 0, run))
    }
}

impl Cursor {
    /// The head's key for matches: `WORDS` words from byte `at` on.
    #[inline(always)]
    fn head_key<K: Key, const WORDS: usize>(
        &self,
        key: K,
        record_bytes: usize,
        at: usize,
        run: usize,
    ) -> HeadKey {
        match self.record(record_bytes) {
            Some(head) => {
                let second = if WORDS > 1 { key.word(head, at + 8) } else { 0 };
                HeadKey::new(key.word(head, at), second, run)
            }
            None => HeadKey::exhausted(run),
        }
    }

    /// The head; `None` if the run is exhausted. Only for the `Merge` that borrows the runs, with
    /// its own record length.
    #[inline(always)]
    fn record(&self, record_bytes: usize) -> Option<&[u8]> {
        if self.remaining == 0 {
            return None;
        }
        // SAFETY: `remaining > 0`, so that `head` is the start of a record of `record_bytes` bytes
        // inside a slice that the `Merge` borrows: `open` and `copy_many` take it from a block with
        // `remaining` whole records or from `locate`, and `advance` moves it by one record while
        // `remaining` says that another follows, or takes it from `locate`.
        Some(unsafe { std::slice::from_raw_parts(self.head, record_bytes) })
    }
}

/// The address of record `index`.
#[inline(always)]
fn locate(records: &[u8], record_bytes: usize, index: u64) -> *const u8 {
    let start = (index as usize).checked_mul(record_bytes).expect("an index of a record");
    records[start..][..record_bytes].as_ptr()
}

/// True if the head of run `a` comes before the head of run `b`, by whole keys, then by run.
#[inline(never)]
fn first_wins<K: Key>(key: K, record_bytes: usize, nodes: &[Node], a: usize, b: usize) -> bool {
    match (nodes[a].cursor.record(record_bytes), nodes[b].cursor.record(record_bytes)) {
        (Some(first), Some(second)) => key.compare(first, second).then(a.cmp(&b)).is_lt(),
        (first, _) => first.is_some(),
    }
}

/// The number of nodes that a merge of `runs` runs needs: one for each leaf of the tree, of which
/// there is a power of two.
pub fn nodes_needed(runs: usize) -> usize {
    runs.next_power_of_two()
}
