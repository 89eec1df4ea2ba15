//! The k-way merge of sorted runs of lines.
//!
//! The same loser tree as for records. It compares the first words of the keys of the runs' current
//! lines, which are called heads; lines with equal words are compared as wholes.

use super::columns::{Columns, SameBytes};
use super::hash::word_hash;
use super::scan::begin_with_same;
use super::{Entries, Entry, Gathered, LineOrder, Words, line_end, line_hash};
use crate::loser_tree::{self, HeadKey, Node};
use crate::prefetch;

/// How many lines ahead a run in memory is prefetched.
const AHEAD: usize = 16;
/// How many entries ahead, so that the entries of those lines are there: the processor's own
/// prefetcher doesn't reach so far.
const ENTRIES_AHEAD: usize = 64;
/// Lines up to this length are copied as a block of so many bytes, where that fits.
const SHORT: usize = 32;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// A sample of so many lines of so many runs tells how often words tie. If one in `TIES_SHARE`
/// pairs does, heads hold a second word.
const SAMPLED_RUNS: usize = 8;
const SAMPLED_LINES: usize = 16;
const TIES_SHARE: usize = 8;
/// A common prefix of keys that have to be made is not searched beyond this.
const SHARED_MAX: usize = 256;

/// A sorted run of lines, or a slice of one.
#[derive(Clone, Copy, Debug)]
pub enum Lines<'a> {
    /// Lines in order, each with its delimiter, in consecutive slices (some may be empty).
    Blocks(&'a [&'a [u8]]),
    /// Lines in any order in memory, and the order in which to take them.
    Ordered {
        /// The lines.
        text: &'a [u8],
        /// In order.
        entries: Entries<'a>,
    },
}

/// Writes what becomes of a line.
pub trait PutLine {
    /// Writes what becomes of a line to the front of `out`, which has room for the line and its
    /// delimiter. Returns how many bytes that is.
    fn put(&mut self, line: &[u8], out: &mut [u8]) -> usize;
}

/// What [`LineMerge::fill_with`] has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Bytes.
    pub bytes: usize,
    /// Bytes of the lines that they were made of, each with its delimiter.
    pub line_bytes: usize,
}

/// A merge of runs in progress, resumable at any byte, in an order that its user need not know.
pub trait LineMerge<'a> {
    /// Leaves out the sum of written lines' hashes, for lines that are merged again. Those of
    /// dropped lines are summed all the same.
    fn omit_written_sum(&mut self);

    /// Writes the next bytes of the merged lines to `out`. Returns how many: fewer than fit only at
    /// the end.
    fn fill(&mut self, out: &mut [u8]) -> usize;

    /// Writes what `put` makes of the next lines to `out`, as many as would fit as they are. Not to
    /// be called while a line is written in part.
    fn fill_with(&mut self, out: &mut [u8], put: &mut dyn PutLine) -> Filled;

    /// Writes the next lines to `out`: as many as fit whole. Not to be mixed with
    /// [`fill`](LineMerge::fill), which may leave a part of a line.
    fn gather(&mut self, out: &mut [u8]) -> Gathered;

    /// Takes the next line, without its delimiter; `None` at the end.
    fn take_line(&mut self) -> Option<&'a [u8]>;

    /// Bytes that are missing of a line that was written in part, its delimiter included; 0 if
    /// there is none.
    fn pending_bytes(&self) -> usize;

    /// Lines taken from the runs so far, duplicates included.
    fn taken(&self) -> u64;

    /// The sum of the hashes of lines that were written, and of those that were dropped.
    fn sums(&self) -> (u64, u64);

    /// Whether everything was written.
    fn is_done(&self) -> bool;
}

/// Where a merge stands in one run.
#[derive(Clone, Copy)]
struct Cursor<'a, W> {
    /// The rest of the head's block or text, from the head on.
    tail: &'a [u8],
    /// Length of the head.
    bytes: usize,
    is_live: bool,
    /// The entries behind the head's.
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

/// A merge in an order of this type; [`LineMerge`] has what it does.
pub struct Merge<'a, O: LineOrder> {
    order: &'a O,
    delimiter: u8,
    is_unique: bool,
    /// Where in normalised keys the words of heads begin.
    skip: usize,
    /// If these words are made of some bytes of the keys only.
    columns: Option<Columns>,
    /// Whether heads begin with the first bytes of their keys, as entries do.
    is_from_start: bool,
    /// Lines of so many bytes are the same if their heads and lengths are.
    settled_bytes: usize,
    /// Whether heads hold two words of their keys, because one would tie too often.
    is_deep: bool,
    /// Whether lines are hashed.
    needs_hashes: bool,
    runs: &'a [Lines<'a>],
    nodes: Vec<Node<Cursor<'a, O::Words>>>,
    winner: HeadKey,
    live: usize,
    taken: u64,
    /// The sum of the hashes of lines that were written, and of those that were dropped.
    written_sum: u64,
    dropped_sum: u64,
    /// The rest of a line that didn't fit, its delimiter included.
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
    /// Prepares to merge `runs`. Lines that compare equal come in the order of the runs. With
    /// `is_unique` only the first of lines with the same key is written. If `ends` are known, all
    /// lines lie between them: so all keys have the prefix that those of the ends share. The first
    /// end was written before. `same` are bytes that are the same in all keys, if that is known.
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
        // Entries have the first words of keys.
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

    /// Counts the head of `run`, which comes next. Returns whether it is to be written.
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

    /// Goes on behind the head of `run`.
    #[inline(always)]
    fn advance(&mut self, run: usize) {
        let Cursor { tail, bytes, .. } = self.nodes[run].cursor;
        let head_key = self.next(run);
        // The same line again wins again, without the matches that its equals would tie.
        let may_repeat = head_key == self.winner && !head_key.is_whole();
        if !may_repeat || !self.repeats(run, tail, bytes) {
            self.replay(head_key);
        }
    }

    /// Whether the head of `run`, whose words are those of the line before, is that line again: the
    /// first `bytes` bytes of `tail`.
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

    /// Whether the head of `run`, which comes next, is to be written.
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

    /// Writes a line and its delimiter, or as much of them as fits.
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
                // A short line has its bytes in the word, and nothing behind.
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

/// Whether the head of run `a` comes before that of run `b`: by whole lines, then by run. Their
/// words are equal.
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

/// Whether neighbours in the runs often have equal words, as far as a sample tells.
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

/// How many bytes the keys of two lines begin with in common, where these are the lines' own.
fn shared_key_bytes<O: LineOrder>(order: &O, low: &[u8], high: &[u8]) -> usize {
    let [low, high] = [low, high].map(|line| &line[..order.bytes_in_words(line)]);
    super::shared_bytes(low, high)
}

/// Where the words of heads begin: behind the common prefix of the keys of both lines, if that has
/// `least` bytes or more. Otherwise at byte 0, where words are at hand.
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
