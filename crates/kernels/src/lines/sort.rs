//! Sorting entries by the words of their keys.
//!
//! Most lines differ in the eight bytes that their entries hold, so no line is read. Groups with
//! equal words are sorted by the next eight bytes after the prefix that the group shares (as
//! multikey quicksort and burstsort do with characters). Small groups compare complete lines. Bytes
//! that are equal in all keys are left out.

use super::columns::{Columns, SameBytes};
use super::scan::begin_with_same;
use super::{Entry, LineOrder, Words, for_each_line, line_end, line_hash, shared_bytes};
use crate::caches::Caches;
use crate::{prefetch, words};
use std::cmp::Ordering;

/// Groups up to this size are sorted by comparisons.
const COMPARE_MAX: usize = 16;
/// After this number of words, a group is sorted by comparisons: further words are unlikely to
/// differ.
const DEPTH_MAX: usize = 64;
/// Groups up to this size are sorted by comparisons if built words are equal in a sample: in lines
/// with small differences, the next words would also be equal.
const MADE_WORDS_MAX: usize = 1 << 16;
/// Number of lines in that sample; less than [`COMPARE_MAX`].
const MADE_WORDS_SAMPLE: usize = 8;
/// Number of lines sampled for a prefix that all may share.
const GUESSES: usize = 64;
/// At most one in this many sampled lines may end within the words of columns, because such lines
/// take longer.
const SHORT_SHARE: usize = 8;
/// Number of lines prefetched ahead.
const AHEAD: usize = 16;

/// Sorts the entries of one text.
struct Sorter<'a, O: LineOrder> {
    order: &'a O,
    text: &'a [u8],
    delimiter: u8,
    caches: Caches,
    needs_hashes: bool,
    /// The bytes that are equal in all keys, and the columns of words without them, if such words
    /// are better.
    same: Option<(SameBytes, Columns)>,
    scratch: O::Scratch,
}

/// The result of [`sort_only`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    /// The sum of the lines' hashes if it was requested, otherwise 0.
    pub sum: u64,
    /// The bytes that are equal in all keys, if words without them are better.
    pub same: Option<SameBytes>,
}

/// Builds an entry for each line of `text`, and sorts the entries. `entries` and `buffer` have one
/// element for each line, fewer than 2^32. Equal lines keep the order of the text. Returns the sum
/// of the lines' hashes if `needs_hashes`, otherwise 0.
///
/// # Panics
/// If the text has another number of lines.
pub fn sort<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    entries: &mut [Entry<O::Words>],
    buffer: &mut [Entry<O::Words>],
    caches: Caches,
    needs_hashes: bool,
) -> u64 {
    let mut sorter = Sorter::new(order, text, delimiter, caches, needs_hashes);
    let (shared, sum) = sorter.sort(entries, buffer, false);
    sorter.restore(entries, shared);
    sum
}

/// Builds and sorts entries like [`sort`], but leaves arbitrary words in them. The words may
/// consist of some bytes of the keys only.
///
/// # Panics
/// If the text has another number of lines than `entries`.
pub fn sort_only<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    entries: &mut [Entry<O::Words>],
    buffer: &mut [Entry<O::Words>],
    caches: Caches,
    needs_hashes: bool,
) -> Sorted {
    let mut sorter = Sorter::new(order, text, delimiter, caches, needs_hashes);
    let (_, sum) = sorter.sort(entries, buffer, true);
    Sorted { sum, same: sorter.same.map(|(same, _)| same) }
}

/// Facts about all lines after extracting their entries.
struct Extracted {
    /// Length in bytes of the prefix that all lines share, at most the guess.
    shared: usize,
    /// Bits of the bytes after that prefix that are equal in all keys.
    same: u64,
    /// The sum of the lines' hashes.
    sum: u64,
}

/// The result of [`dedup`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deduplicated {
    /// Number of remaining lines.
    pub lines: usize,
    /// The sum of the dropped lines' hashes.
    pub dropped_sum: u64,
}

/// Moves the first of each group of entries with the same key to the front, in order.
pub fn dedup<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    entries: &mut [Entry<O::Words>],
) -> Deduplicated {
    let mut scratch = O::Scratch::default();
    let (mut lines, mut dropped_sum) = (0, 0u64);
    for at in 0..entries.len() {
        let entry = entries[at];
        let is_new = lines == 0 || {
            let last = entries[lines - 1];
            let is_whole = O::ZEROS_END && entry.words().at(O::Words::COUNT - 1) as u8 == 0;
            last.words() != entry.words()
                || !is_whole
                    && !order.same(
                        last.line(text, delimiter),
                        entry.line(text, delimiter),
                        &mut scratch,
                    )
        };
        if is_new {
            entries[lines] = entry;
            lines += 1;
        } else {
            let hash = line_hash(&text[entry.offset()..], entry.bytes(text, delimiter));
            dropped_sum = dropped_sum.wrapping_add(hash);
        }
    }
    Deduplicated { lines, dropped_sum }
}

impl<'t, O: LineOrder> Sorter<'t, O> {
    fn new(
        order: &'t O,
        text: &'t [u8],
        delimiter: u8,
        caches: Caches,
        needs_hashes: bool,
    ) -> Self {
        let scratch = O::Scratch::default();
        Sorter { order, text, delimiter, caches, needs_hashes, same: None, scratch }
    }

    /// Builds entries and sorts them. Returns the result of [`extract`](Sorter::extract).
    fn sort(
        &mut self,
        entries: &mut [Entry<O::Words>],
        buffer: &mut [Entry<O::Words>],
        leaves_out: bool,
    ) -> (usize, u64) {
        let (shared, sum) = self.extract(entries, leaves_out);
        if !self.are_in_order(entries) {
            words::sort(entries, buffer, self.caches);
            self.sort_groups(entries, buffer, shared, 0);
        }
        (shared, sum)
    }

    /// Builds an entry for each line, with the words after the prefix that all lines share. Returns
    /// the length of that prefix, and the sum of the lines' hashes. With `leaves_out`, words may
    /// omit the bytes that are equal in all lines.
    fn extract(&mut self, entries: &mut [Entry<O::Words>], leaves_out: bool) -> (usize, u64) {
        let mut shared = self.guess_shared();
        self.same = if leaves_out { self.guess_same(shared) } else { None };
        // A wrong guess costs another pass over the text.
        loop {
            let extracted = self.extract_from(entries, shared);
            if extracted.shared < shared {
                shared = extracted.shared;
                self.same = if leaves_out { self.guess_same(shared) } else { None };
                continue;
            }
            match self.same.take() {
                Some((mut same, _)) if extracted.same != same.behind() => {
                    same.keep(extracted.same);
                    self.same = Self::with_columns(same, shared);
                }
                same => {
                    self.same = same;
                    return (shared, extracted.sum);
                }
            }
        }
    }

    fn with_columns(same: SameBytes, shared: usize) -> Option<(SameBytes, Columns)> {
        same.columns(shared, 8 * O::Words::COUNT).map(|columns| (same, columns))
    }

    /// The beginnings of some lines, spread over the text. Each item is the rest of the text from
    /// there on.
    fn samples(&self) -> impl Iterator<Item = &'t [u8]> {
        let (text, delimiter) = (self.text, self.delimiter);
        let part = (text.len() / GUESSES).max(1);
        let sample = move |guess: usize| {
            let rest = text.get(guess * part..)?;
            rest.get(line_end(rest, delimiter) + 1..)
        };
        (1..GUESSES).map_while(sample).filter(|rest| !rest.is_empty())
    }

    /// Length of the prefix that the first line shares with a sample of lines; 0 for orders whose
    /// words are not the line's bytes.
    fn guess_shared(&self) -> usize {
        let first = &self.text[..line_end(self.text, self.delimiter)];
        let mut shared = self.order.bytes_in_words(first);
        if shared == 0 {
            return 0;
        }
        for rest in self.samples() {
            shared = shared_bytes(&first[..shared], &rest[..line_end(rest, self.delimiter)]);
        }
        shared
    }

    /// The bytes that are equal in a sample of lines, if most of them are long enough for words
    /// without these bytes. All share the first `shared` bytes.
    fn guess_same(&self, shared: usize) -> Option<(SameBytes, Columns)> {
        let first_bytes = line_end(self.text, self.delimiter);
        if self.order.ordered_bytes(&self.text[..first_bytes]) <= shared {
            return None;
        }
        let mut same = SameBytes::of(self.order, self.text, first_bytes, shared);
        self.samples().for_each(|rest| same.keep(same.within(rest)));
        let (same, columns) = Self::with_columns(same, shared)?;
        let is_short = |rest: &&[u8]| {
            let bytes = line_end(rest, self.delimiter).min(columns.end(1));
            self.order.ordered_bytes(&rest[..bytes]) < columns.end(1)
        };
        let short = self.samples().filter(is_short).count();
        (short * SHORT_SHARE <= GUESSES).then_some((same, columns))
    }

    /// Builds an entry for each line with the words after a guessed prefix of `shared` bytes.
    /// Returns how much of the guess is true.
    fn extract_from(&mut self, entries: &mut [Entry<O::Words>], shared: usize) -> Extracted {
        let text = self.text;
        let prefix = &text[..shared];
        let mut place = 0;
        let mut extracted = Extracted { shared, same: u64::MAX, sum: 0 };
        // The preceding line and its words: the next line may be equal.
        let mut before: Option<(&[u8], usize, _)> = None;
        for_each_line(text, self.delimiter, |start, end| {
            let (tail, line) = (&text[start..], &text[start..end]);
            let bytes = line.len();
            let Extracted { shared: really, same: kept, sum } = &mut extracted;
            if shared > 0 && !line.starts_with(prefix) {
                *really = shared_bytes(prefix, line).min(*really);
            } else if let Some((same, _)) = &self.same {
                *kept &= same.within(tail);
            }
            if self.needs_hashes {
                *sum = sum.wrapping_add(line_hash(tail, bytes));
            }
            let words = match (&self.same, O::Words::COUNT, before) {
                (_, _, Some((same, of, words)))
                    if of == bytes && begin_with_same(same, tail, bytes) =>
                {
                    words
                }
                (Some((_, columns)), ..) => columns.words_of(self.order, tail, bytes),
                (_, 1, _) => [self.order.word_of(tail, bytes, shared, &mut self.scratch), 0],
                _ => self.order.two_words_of(tail, bytes, shared, &mut self.scratch),
            };
            if !O::WORD_IS_LINE {
                before = Some((tail, bytes, words));
            }
            entries[place] = Entry::new(O::Words::of(words), start, bytes);
            place += 1;
        });
        assert_eq!(place, entries.len(), "an entry a line");
        extracted.same &= self.same.as_ref().map_or(0, |(same, _)| same.behind());
        extracted
    }

    /// The position in keys after the word at byte `at`, which is preceded by `depth` other words.
    fn word_end(&self, at: usize, depth: usize) -> usize {
        match &self.same {
            Some((_, columns)) if depth < O::Words::COUNT => columns.end(depth),
            _ => at + 8,
        }
    }

    /// Replaces words by the words from byte 0 on, for lines that share the first `shared` bytes.
    fn restore(&self, entries: &mut [Entry<O::Words>], shared: usize) {
        if shared == 0 {
            return;
        }
        let mut bytes = [0; 16];
        let known = shared.min(16);
        bytes[..known].copy_from_slice(&self.text[..known]);
        let (prefix, turn) = (u128::from_be_bytes(bytes), O::TURN);
        for entry in entries {
            let words = entry.words();
            let second = if O::Words::COUNT == 1 { 0 } else { words.at(1) ^ turn };
            let own = u128::from(words.at(0) ^ turn) << 64 | u128::from(second);
            let whole = prefix | own.checked_shr(8 * known as u32).unwrap_or(0);
            let whole = [(whole >> 64) as u64 ^ turn, whole as u64 ^ turn];
            *entry = entry.with_words(O::Words::of(whole));
        }
    }

    /// True if all lines are in order, as in input that was sorted before. In other input, the
    /// check usually ends after a few lines.
    fn are_in_order(&mut self, entries: &[Entry<O::Words>]) -> bool {
        let (text, delimiter) = (self.text, self.delimiter);
        entries.is_sorted_by(|a, b| match a.words().cmp(&b.words()) {
            Ordering::Equal => {
                let (a, b) = (a.line(text, delimiter), b.line(text, delimiter));
                self.order.compare(a, b, &mut self.scratch) != Ordering::Greater
            }
            order => order == Ordering::Less,
        })
    }

    /// Sorts each group of entries with equal words. The words are at byte `at` of the keys and are
    /// preceded by `depth` other words.
    fn sort_groups(
        &mut self,
        entries: &mut [Entry<O::Words>],
        buffer: &mut [Entry<O::Words>],
        at: usize,
        depth: usize,
    ) {
        let mut start = 0;
        while start < entries.len() {
            let word = entries[start].word();
            let mut end = start + 1;
            while end < entries.len() && entries[end].word() == word {
                end += 1;
            }
            if end - start > 1 {
                self.sort_group(&mut entries[start..end], &mut buffer[..end - start], at, depth);
                entries[start..end].iter_mut().for_each(|entry| *entry = entry.with_word(word));
            }
            start = end;
        }
    }

    /// Sorts a group whose words are equal up to the word at byte `at`. Changes their words.
    fn sort_group(
        &mut self,
        group: &mut [Entry<O::Words>],
        buffer: &mut [Entry<O::Words>],
        at: usize,
        depth: usize,
    ) {
        if O::ZEROS_END && group[0].word() as u8 == 0 {
            // Equal keys, already in the order of the text.
            return;
        }
        let skip = self.word_end(at, depth);
        if O::WORD_IS_LINE && self.ends_before(group, skip) {
            // Equal words and no further bytes: a shorter line is a prefix of a longer one.
            let bytes = |entry: &Entry<_>| entry.bytes(self.text, self.delimiter);
            return group.sort_by(|a, b| O::compare_lengths(bytes(a), bytes(b)));
        }
        if depth + 1 < O::Words::COUNT {
            group
                .iter_mut()
                .for_each(|entry| *entry = entry.with_word(entry.words().at(depth + 1)));
            words::sort(group, buffer, self.caches);
            return self.sort_groups(group, buffer, skip, depth + 1);
        }
        if group.len() <= COMPARE_MAX {
            return self.insertion(group);
        }
        if self.are_same(group) {
            return;
        }
        if depth == DEPTH_MAX {
            return self.compare_all(group);
        }
        if self.wastes_words(group, skip) {
            return self.compare_all(group);
        }
        let skip = skip + self.shared_behind(group, skip);
        let mut differ = 0;
        let mut first = None;
        for at in 0..group.len() {
            if let Some(later) = group.get(at + AHEAD) {
                prefetch::line(self.text.as_ptr().wrapping_add(later.offset() + skip));
            }
            let entry = group[at];
            let bytes = entry.bytes(self.text, self.delimiter);
            let word =
                self.order.word_of(&self.text[entry.offset()..], bytes, skip, &mut self.scratch);
            differ |= word ^ *first.get_or_insert(word);
            group[at] = entry.with_word(word);
        }
        if differ == 0 && !self.order.is_exact() {
            return self.compare_all(group);
        }
        if differ == 0 && self.is_in_order(group) {
            return;
        }
        words::sort(group, buffer, self.caches);
        self.sort_groups(group, buffer, skip, depth + 1);
    }

    /// True if all lines of a group are equal, as in most large groups with equal words.
    fn are_same(&self, group: &[Entry<O::Words>]) -> bool {
        let bytes = group[0].bytes(self.text, self.delimiter);
        let first = &self.text[group[0].offset()..];
        group.iter().enumerate().all(|(at, entry)| {
            if let Some(later) = group.get(at + AHEAD) {
                prefetch::line(self.text.as_ptr().wrapping_add(later.offset()));
            }
            entry.bytes(self.text, self.delimiter) == bytes
                && begin_with_same(&self.text[entry.offset()..], first, bytes)
        })
    }

    /// Number of bytes from byte `skip` on that all keys of a group share, if keys are the lines'
    /// own bytes. 0 if they aren't, or if fewer than eight are shared.
    fn shared_behind(&self, group: &[Entry<O::Words>], skip: usize) -> usize {
        let first = group[0].line(self.text, self.delimiter);
        let key = &first[..self.order.bytes_in_words(first)];
        let Some(key) = key.get(skip..) else { return 0 };
        let mut shared = key.len();
        for (at, entry) in group.iter().enumerate().skip(1) {
            if shared < 8 {
                return 0;
            }
            if let Some(later) = group.get(at + AHEAD) {
                prefetch::line(self.text.as_ptr().wrapping_add(later.offset() + skip));
            }
            let line = entry.line(self.text, self.delimiter).get(skip..).unwrap_or_default();
            shared = shared_bytes(&key[..shared], line);
        }
        shared
    }

    /// True if a group's words at byte `skip` would have to be built, and are equal in a sample.
    fn wastes_words(&mut self, group: &[Entry<O::Words>], skip: usize) -> bool {
        if self.order.has_words_at_hand() || group.len() > MADE_WORDS_MAX {
            return false;
        }
        let mut words = group.iter().step_by(group.len() / MADE_WORDS_SAMPLE).map(|entry| {
            let bytes = entry.bytes(self.text, self.delimiter);
            self.order.word_of(&self.text[entry.offset()..], bytes, skip, &mut self.scratch)
        });
        let first = words.next();
        words.all(|word| Some(word) == first)
    }

    /// True if all lines of a group have at most `bytes` bytes.
    fn ends_before(&self, group: &[Entry<O::Words>], bytes: usize) -> bool {
        group.iter().all(|entry| entry.bytes(self.text, self.delimiter) <= bytes)
    }

    /// True if a group is already in order, as groups of equal lines are.
    fn is_in_order(&mut self, group: &[Entry<O::Words>]) -> bool {
        group.windows(2).all(|pair| self.compare(pair[0], pair[1]) != Ordering::Greater)
    }

    fn compare_all(&mut self, group: &mut [Entry<O::Words>]) {
        group.sort_by(|a, b| self.compare(*a, *b));
    }

    fn insertion(&mut self, group: &mut [Entry<O::Words>]) {
        for place in 1..group.len() {
            let entry = group[place];
            let mut hole = place;
            while hole > 0 && self.compare(group[hole - 1], entry) == Ordering::Greater {
                group[hole] = group[hole - 1];
                hole -= 1;
            }
            group[hole] = entry;
        }
    }

    fn compare(&mut self, a: Entry<O::Words>, b: Entry<O::Words>) -> Ordering {
        let (a, b) = (a.line(self.text, self.delimiter), b.line(self.text, self.delimiter));
        self.order.compare(a, b, &mut self.scratch)
    }
}
