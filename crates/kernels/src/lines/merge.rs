//! The k-way merge of sorted runs of lines.
//!
//! It uses the loser tree of the merge of records. The tree compares the first words of the keys of
//! the runs' current lines, which are called heads. Lines with equal words are compared in full.

use super::columns::{Columns, SameBytes};
use super::hash::word_hash;
use super::scan::begin_with_same;
use super::{Entries, Entry, Gathered, LineOrder, Words, line_end, line_hash};
use crate::loser_tree::{self, HeadKey, Node};
use crate::prefetch;

/// Number of lines by which a run in memory is prefetched ahead.
const AHEAD: usize = 16;
/// Number of entries prefetched ahead, so that they are in the cache when their lines are
/// prefetched. The processor's own prefetcher doesn't reach that far.
const ENTRIES_AHEAD: usize = 64;
/// Lines up to this length are copied as a block of this many bytes, if it fits.
const SHORT: usize = 32;

/// Size of a word in bytes.
const WORD: usize = size_of::<u64>();

/// A sample of [`SAMPLED_LINES`] lines from [`SAMPLED_RUNS`] runs shows how often words tie. If one
/// in `TIES_SHARE` pairs does, heads hold a second word.
const SAMPLED_RUNS: usize = 8;
const SAMPLED_LINES: usize = 16;
const TIES_SHARE: usize = 8;
/// A common prefix of built keys is searched up to this number of bytes.
const SHARED_MAX: usize = 256;

/// A sorted run of lines, or a slice of one.
#[derive(Clone, Copy, Debug)]
pub enum Lines<'a> {
    /// Lines in order, each with its delimiter, in consecutive slices (some may be empty).
    Blocks(&'a [&'a [u8]]),
    /// Lines in any order in memory, and the entries that order them.
    Ordered {
        /// The lines.
        text: &'a [u8],
        /// The entries, in order.
        entries: Entries<'a>,
    },
}

/// Transforms and writes a line.
pub trait PutLine {
    /// Writes the transformed line to the front of `out`, which has room for the line and its
    /// delimiter. Returns the number of bytes written.
    fn put(&mut self, line: &[u8], out: &mut [u8]) -> usize;
}

/// The result of [`LineMerge::fill_with`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Number of bytes written.
    pub bytes: usize,
    /// Bytes of the merged lines before the transformation, each with its delimiter.
    pub line_bytes: usize,
}

/// A merge of runs in progress, resumable at any byte. The order is hidden from the caller.
pub trait LineMerge<'a> {
    /// Omits the sum of written lines' hashes, for lines that will be merged again. Dropped lines
    /// are still summed.
    fn omit_written_sum(&mut self);

    /// Writes the next bytes of the merged lines to `out`. Returns the number of bytes; `out` is
    /// filled except at the end.
    fn fill(&mut self, out: &mut [u8]) -> usize;

    /// Writes the next lines to `out`, transformed by `put`. Stops when an untransformed line might
    /// not fit. Must not be called while a line is partly written.
    fn fill_with(&mut self, out: &mut [u8], put: &mut dyn PutLine) -> Filled;

    /// Writes the next lines to `out`, as many as fit completely. Don't mix with
    /// [`fill`](LineMerge::fill), which may leave a line partly written.
    fn gather(&mut self, out: &mut [u8]) -> Gathered;

    /// Takes the next line, without its delimiter; `None` at the end.
    fn take_line(&mut self) -> Option<&'a [u8]>;

    /// Number of bytes missing from a partly written line, including its delimiter; 0 if there is
    /// none.
    fn pending_bytes(&self) -> usize;

    /// Number of lines taken from the runs so far, including duplicates.
    fn taken(&self) -> u64;

    /// The sums of the hashes of written lines and of dropped lines.
    fn sums(&self) -> (u64, u64);

    /// True if everything has been written.
    fn is_done(&self) -> bool;
}

/// The position of a merge in one run.
#[derive(Clone, Copy)]
struct Cursor<'a, W> {
    /// The head's block or text, from the head on.
    tail: &'a [u8],
    /// Length of the head in bytes.
    bytes: usize,
    is_live: bool,
    /// The entries after the head's.
    entries: &'a [Entry<W>],
    /// The number of the next block.
    next: usize,
}

impl<W> Default for Cursor<'_, W> {
    fn default() -> Self {
        Cursor { tail: &[], bytes: 0, is_live: false, entries: &[], next: 0 }
    }
}

impl<'a, W> Cursor<'a, W> {
    #[inline(always)]
    fn line(&self) -> &'a [u8] {
        &self.tail[..self.bytes]
    }
}

/// A merge in one order of lines; see [`LineMerge`].
pub struct Merge<'a, O: LineOrder> {
    order: &'a O,
    delimiter: u8,
    is_unique: bool,
    /// The byte of normalised keys at which the heads' words begin.
    skip: usize,
    /// The columns, if words consist of some bytes of the keys only.
    columns: Option<Columns>,
    /// True if heads begin with the first bytes of their keys, as entries do.
    is_from_start: bool,
    /// Lines of up to this many bytes are equal if their heads and lengths are equal.
    settled_bytes: usize,
    /// True if heads hold two key words, because one would tie too often.
    is_deep: bool,
    /// True if lines are hashed.
    needs_hashes: bool,
    runs: &'a [Lines<'a>],
    nodes: Vec<Node<Cursor<'a, O::Words>>>,
    winner: HeadKey,
    live: usize,
    taken: u64,
    /// The sums of the hashes of written lines and of dropped lines.
    written_sum: u64,
    dropped_sum: u64,
    /// The rest of a partly written line, including its delimiter.
    pending: Pending<'a>,
    last: Option<(&'a [u8], u64)>,
    scratch: O::Scratch,
    tie_scratch: O::Scratch,
}

#[derive(Clone, Copy, Default)]
struct Pending<'a> {
    rest: &'a [u8],
    has_delimiter: bool,
}

impl<'a, O: LineOrder> Merge<'a, O> {
    /// Prepares to merge `runs`. Equal lines keep the order of the runs. With `is_unique`, only the
    /// first of lines with the same key is written. If `ends` is given, all lines lie between the
    /// two, so all keys have the prefix that the ends' keys share; the first end has already been
    /// written. `same` gives the bytes that are equal in all keys, if known.
    pub fn new(
        order: &'a O,
        delimiter: u8,
        is_unique: bool,
        runs: &'a [Lines<'a>],
        ends: Option<(&'a [u8], &'a [u8])>,
        same: Option<&SameBytes>,
    ) -> Self {
        let mut scratch = O::Scratch::default();
        let last = ends.map(|(low, _)| (low, order.word(low, 0, &mut scratch)));
        // Entries hold the first words of keys.
        let have_entries = runs.iter().any(|run| matches!(run, Lines::Ordered { .. }));
        let least = if O::WORD_IS_LINE || have_entries { WORD } else { 1 };
        let skip = ends.map_or(0, |(low, high)| skipped(order, low, high, least, &mut scratch));
        let columns = same.filter(|_| !have_entries).and_then(|same| {
            let shared = ends.map_or(0, |(low, high)| shared_key_bytes(order, low, high));
            same.columns(shared, loser_tree::KEY_BYTES)
        });
        let nodes = vec![Node::default(); runs.len().next_power_of_two()];
        let mut merge = Merge {
            order,
            delimiter,
            is_unique,
            skip,
            columns,
            is_from_start: skip == 0 && columns.is_none(),
            settled_bytes: if columns.is_none() { skip + WORD } else { 0 },
            is_deep: O::WORD_IS_LINE
                || O::Words::COUNT > 1
                || columns.is_some()
                || order.is_exact() && words_tie(order, delimiter, skip, runs, &mut scratch),
            needs_hashes: true,
            runs,
            nodes,
            winner: HeadKey::exhausted(0),
            live: 0,
            taken: 0,
            written_sum: 0,
            dropped_sum: 0,
            pending: Pending::default(),
            last,
            scratch,
            tie_scratch: O::Scratch::default(),
        };
        let mut head_keys = Vec::with_capacity(merge.nodes.len());
        for run in 0..merge.nodes.len() {
            head_keys.push(if run < runs.len() {
                merge.next(run)
            } else {
                HeadKey::exhausted(run)
            });
        }
        merge.live = merge.nodes.iter().filter(|node| node.cursor.is_live).count();
        let settled = merge.settled_bytes;
        let scratch = std::cell::RefCell::new(&mut merge.tie_scratch);
        merge.winner = loser_tree::build::<_, true>(
            &mut merge.nodes,
            |_, run| head_keys[run],
            |nodes: &[Node<Cursor<'_, O::Words>>], a, b| {
                first_wins(order, settled, nodes, a, b, &mut scratch.borrow_mut())
            },
        );
        merge
    }

    /// Counts the head of `run`, which is next. Returns true if it is to be written.
    #[inline(always)]
    fn count(&mut self, run: usize) -> bool {
        self.taken += 1;
        if !self.needs_hashes {
            return self.is_wanted(run);
        }
        let Cursor { tail, bytes, .. } = self.nodes[run].cursor;
        let hash = match O::WORD_IS_LINE && bytes <= WORD && self.is_from_start {
            true => word_hash(self.winner.first() ^ O::TURN, bytes),
            false => line_hash(tail, bytes),
        };
        let is_wanted = self.is_wanted(run);
        let sum = if is_wanted { &mut self.written_sum } else { &mut self.dropped_sum };
        *sum = sum.wrapping_add(hash);
        is_wanted
    }

    /// Advances `run` to the line after its head.
    #[inline(always)]
    fn advance(&mut self, run: usize) {
        let Cursor { tail, bytes, .. } = self.nodes[run].cursor;
        let head_key = self.next(run);
        // An equal line wins again, without the matches in which its equals would tie.
        let may_repeat = head_key == self.winner && !head_key.is_whole();
        if !may_repeat || !self.repeats(run, tail, bytes) {
            self.replay(head_key);
        }
    }

    /// True if the head of `run` equals the preceding line, the first `bytes` bytes of `tail`.
    /// Their words are equal.
    #[inline(always)]
    fn repeats(&self, run: usize, tail: &[u8], bytes: usize) -> bool {
        let cursor = &self.nodes[run].cursor;
        if !cursor.is_live || cursor.bytes != bytes {
            return false;
        }
        if O::WORD_IS_LINE && bytes <= self.settled_bytes {
            return true;
        }
        begin_with_same(cursor.tail, tail, bytes)
    }

    #[inline(always)]
    fn replay(&mut self, head_key: HeadKey) {
        let (order, settled) = (self.order, self.settled_bytes);
        let scratch = std::cell::RefCell::new(&mut self.tie_scratch);
        self.winner =
            loser_tree::replay::<_, true>(&mut self.nodes, head_key, |nodes: &[_], a, b| {
                first_wins(order, settled, nodes, a, b, &mut scratch.borrow_mut())
            });
    }

    /// True if the head of `run`, which is next, is to be written.
    #[inline(always)]
    fn is_wanted(&mut self, run: usize) -> bool {
        if !self.is_unique {
            return true;
        }
        let line = self.nodes[run].cursor.line();
        let word = match self.is_from_start {
            true => self.winner.first(),
            false => self.order.word(line, 0, &mut self.scratch),
        };
        let is_wanted = self
            .last
            .is_none_or(|(last, of)| of != word || !self.order.same(last, line, &mut self.scratch));
        if is_wanted {
            self.last = Some((line, word));
        }
        is_wanted
    }

    /// Writes a line and its delimiter, or as much as fits. Returns the new end of the output.
    #[inline(always)]
    fn put(&mut self, out: &mut [u8], at: usize, run: usize) -> usize {
        let Cursor { tail, bytes, .. } = self.nodes[run].cursor;
        if O::WORD_IS_LINE
            && bytes <= WORD
            && self.is_from_start
            && let Some(to) = out.get_mut(at..at + WORD + 1)
        {
            to[..WORD].copy_from_slice(&(self.winner.first() ^ O::TURN).to_be_bytes());
            to[bytes] = self.delimiter;
            return at + bytes + 1;
        }
        if bytes <= SHORT
            && let (Some(from), Some(to)) =
                (tail.first_chunk::<SHORT>(), out.get_mut(at..at + SHORT + 1))
        {
            to[..SHORT].copy_from_slice(from);
            to[bytes] = self.delimiter;
            return at + bytes + 1;
        }
        if let Some(to) = out.get_mut(at..at + bytes + 1) {
            to[..bytes].copy_from_slice(&tail[..bytes]);
            to[bytes] = self.delimiter;
            return at + bytes + 1;
        }
        self.pending = Pending { rest: &tail[..bytes], has_delimiter: true };
        at + self.put_pending(&mut out[at..])
    }

    fn put_pending(&mut self, out: &mut [u8]) -> usize {
        let Pending { rest, has_delimiter } = self.pending;
        let bytes = rest.len().min(out.len());
        out[..bytes].copy_from_slice(&rest[..bytes]);
        self.pending.rest = &rest[bytes..];
        if has_delimiter && bytes < out.len() {
            out[bytes] = self.delimiter;
            self.pending.has_delimiter = false;
            return bytes + 1;
        }
        bytes
    }

    /// Moves the cursor of `run` to its next line. Returns the head key for the tree.
    #[inline(always)]
    fn next(&mut self, run: usize) -> HeadKey {
        let cursor = &mut self.nodes[run].cursor;
        match self.runs[run] {
            Lines::Ordered { text, entries } => {
                let entries =
                    if cursor.is_live { cursor.entries } else { O::Words::typed(entries) };
                let Some((&head, behind)) = entries.split_first() else { return self.run_dry(run) };
                prefetch::line(behind.as_ptr().wrapping_add(ENTRIES_AHEAD).cast());
                if let Some(later) = behind.get(AHEAD)
                    && !(O::WORD_IS_LINE
                        && self.skip == 0
                        && later.bytes(text, self.delimiter) <= WORD)
                {
                    let line = text.as_ptr().wrapping_add(later.offset());
                    prefetch::record(line, later.stored_bytes() + 1);
                }
                *cursor = Cursor {
                    tail: &text[head.offset()..],
                    bytes: head.bytes(text, self.delimiter),
                    is_live: true,
                    entries: behind,
                    next: 0,
                };
                let (tail, bytes) = (cursor.tail, cursor.bytes);
                // A short line is completely in the word.
                if self.skip == 0 && (!self.is_deep || O::WORD_IS_LINE && bytes <= WORD) {
                    return HeadKey::new(head.word(), O::TURN, run);
                }
                if self.skip == 0 && O::Words::COUNT > 1 {
                    let head_key = HeadKey::new(head.word(), head.words().at(1), run);
                    return if O::ZEROS_END { head_key.with_end() } else { head_key };
                }
                if self.skip == 0 {
                    let second = self.order.word_of(tail, bytes, WORD, &mut self.scratch);
                    return HeadKey::new(head.word(), second, run);
                }
                self.head_key(tail, bytes, run)
            }
            Lines::Blocks(blocks) => {
                let mut tail = if cursor.is_live {
                    cursor.tail.get(cursor.bytes + 1..).unwrap_or_default()
                } else {
                    &[]
                };
                while tail.is_empty() {
                    let Some(block) = blocks.get(cursor.next) else { return self.run_dry(run) };
                    tail = block;
                    cursor.next += 1;
                }
                prefetch::line(tail.as_ptr().wrapping_add(4 * prefetch::LINE_BYTES));
                let bytes = line_end(tail, self.delimiter);
                *cursor = Cursor { tail, bytes, is_live: true, ..*cursor };
                self.head_key(tail, bytes, run)
            }
        }
    }

    #[inline(always)]
    fn head_key(&mut self, tail: &[u8], bytes: usize, run: usize) -> HeadKey {
        let [first, second] = match (&self.columns, self.is_deep) {
            (Some(columns), _) => columns.words_of(self.order, tail, bytes),
            (None, true) => self.order.two_words_of(tail, bytes, self.skip, &mut self.scratch),
            (None, false) => [self.order.word_of(tail, bytes, self.skip, &mut self.scratch), 0],
        };
        let head_key = HeadKey::new(first, second, run);
        if O::ZEROS_END && self.is_deep { head_key.with_end() } else { head_key }
    }

    #[cold]
    fn run_dry(&mut self, run: usize) -> HeadKey {
        let was_live = std::mem::take(&mut self.nodes[run].cursor).is_live;
        self.live -= usize::from(was_live);
        HeadKey::exhausted(run)
    }
}

impl<'a, O: LineOrder> LineMerge<'a> for Merge<'a, O> {
    fn omit_written_sum(&mut self) {
        self.needs_hashes = self.is_unique;
    }

    fn fill(&mut self, out: &mut [u8]) -> usize {
        let mut at = self.put_pending(out);
        while self.live > 0 && at < out.len() {
            let run = self.winner.run();
            if self.count(run) {
                at = self.put(out, at, run);
            }
            self.advance(run);
        }
        at
    }

    fn fill_with(&mut self, out: &mut [u8], put: &mut dyn PutLine) -> Filled {
        debug_assert_eq!(self.pending_bytes(), 0);
        let mut filled = Filled::default();
        while self.live > 0 {
            let run = self.winner.run();
            let line = self.nodes[run].cursor.line();
            let to = &mut out[filled.bytes..];
            if line.len() >= to.len() {
                break;
            }
            if self.count(run) {
                filled.bytes += put.put(line, to);
                filled.line_bytes += line.len() + 1;
            }
            self.advance(run);
        }
        filled
    }

    fn gather(&mut self, out: &mut [u8]) -> Gathered {
        debug_assert_eq!(self.pending_bytes(), 0);
        let mut gathered = Gathered::default();
        while self.live > 0 {
            let run = self.winner.run();
            let from = gathered.bytes;
            if self.nodes[run].cursor.bytes >= out.len() - from {
                break;
            }
            if self.count(run) {
                let bytes = self.put(out, from, run);
                gathered = Gathered { lines: gathered.lines + 1, bytes, last_line: from };
            }
            self.advance(run);
        }
        gathered
    }

    fn take_line(&mut self) -> Option<&'a [u8]> {
        while self.live > 0 {
            let run = self.winner.run();
            let line = self.nodes[run].cursor.line();
            let is_wanted = self.count(run);
            self.advance(run);
            if is_wanted {
                return Some(line);
            }
        }
        None
    }

    fn pending_bytes(&self) -> usize {
        self.pending.rest.len() + usize::from(self.pending.has_delimiter)
    }

    fn taken(&self) -> u64 {
        self.taken
    }

    fn sums(&self) -> (u64, u64) {
        (self.written_sum, self.dropped_sum)
    }

    fn is_done(&self) -> bool {
        self.live == 0 && self.pending.rest.is_empty() && !self.pending.has_delimiter
    }
}

/// True if the head of run `a` comes before the head of run `b`, by complete lines, then by run.
/// Their words are equal.
#[inline(never)]
fn first_wins<O: LineOrder>(
    order: &O,
    settled_bytes: usize,
    nodes: &[Node<Cursor<'_, O::Words>>],
    a: usize,
    b: usize,
    scratch: &mut O::Scratch,
) -> bool {
    let (first, second) = (&nodes[a].cursor, &nodes[b].cursor);
    let by_line = if O::WORD_IS_LINE && first.bytes.max(second.bytes) <= settled_bytes {
        O::compare_lengths(first.bytes, second.bytes)
    } else {
        order.compare(first.line(), second.line(), scratch)
    };
    by_line.then(a.cmp(&b)).is_lt()
}

/// True if neighbours in the runs often have equal words, judging by a sample.
fn words_tie<O: LineOrder>(
    order: &O,
    delimiter: u8,
    skip: usize,
    runs: &[Lines<'_>],
    scratch: &mut O::Scratch,
) -> bool {
    let (mut pairs, mut ties) = (0, 0);
    for run in runs.iter().take(SAMPLED_RUNS) {
        let mut last = None;
        let mut take = |word: u64| {
            pairs += usize::from(last.is_some());
            ties += usize::from(last == Some(word));
            last = Some(word);
        };
        match run {
            &Lines::Ordered { text, entries } => {
                let entries = O::Words::typed(entries);
                let from = entries.len() / 2;
                for entry in entries[from..].iter().take(SAMPLED_LINES) {
                    take(match skip {
                        0 => entry.word(),
                        _ => order.word(entry.line(text, delimiter), skip, scratch),
                    });
                }
            }
            Lines::Blocks(blocks) => {
                let mut rest = blocks.first().copied().unwrap_or_default();
                for _ in 0..SAMPLED_LINES {
                    if rest.is_empty() {
                        break;
                    }
                    let bytes = line_end(rest, delimiter);
                    take(order.word_of(rest, bytes, skip, scratch));
                    rest = rest.get(bytes + 1..).unwrap_or_default();
                }
            }
        }
    }
    ties * TIES_SHARE > pairs
}

/// Length in bytes of the prefix that the keys of two lines share, if keys are the lines' own
/// bytes.
fn shared_key_bytes<O: LineOrder>(order: &O, low: &[u8], high: &[u8]) -> usize {
    let [low, high] = [low, high].map(|line| &line[..order.bytes_in_words(line)]);
    super::shared_bytes(low, high)
}

/// The byte at which the heads' words begin: after the keys' common prefix if it has `least` bytes
/// or more. Otherwise 0, where entries have the words.
fn skipped<O: LineOrder>(
    order: &O,
    low: &[u8],
    high: &[u8],
    least: usize,
    scratch: &mut O::Scratch,
) -> usize {
    if O::WORD_IS_LINE || order.bytes_in_words(low) > 0 {
        let shared = shared_key_bytes(order, low, high);
        return if shared < least { 0 } else { shared };
    }
    if !order.is_exact() {
        return 0;
    }
    (0..SHARED_MAX)
        .step_by(WORD)
        .find(|&skip| order.word(low, skip, scratch) != order.word(high, skip, scratch))
        .unwrap_or(0)
}
