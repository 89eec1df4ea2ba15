//! The check of lines in memory: each with the one before it.

use std::cmp::Ordering;
use std::ops::Range;
use xsort_kernels::lines::{LineOrder, Words};

/// What is out of order.
pub(super) struct LineCheck<'o, O> {
    order: &'o O,
    delimiter: u8,
    is_unique: bool,
    /// Whether a word of a line costs less than a comparison. Where the words don't decide alone,
    /// because a language does, they cost more, unless a number comes first.
    has_words: bool,
}

/// Lines that were checked.
pub(super) struct Checked {
    /// How many there are, up to one that is out of order.
    pub(super) lines: u64,
    /// Where that one is.
    pub(super) disorder: Option<Range<usize>>,
}

impl<'o, O: LineOrder> LineCheck<'o, O> {
    /// Each line must not be smaller than the one before it, and with `is_unique` be larger.
    pub(super) fn new(order: &'o O, delimiter: u8, is_unique: bool) -> Self {
        let has_words = order.is_exact() || O::Words::COUNT == 1;
        LineCheck { order, delimiter, is_unique, has_words }
    }

    /// Checks whole lines.
    pub(super) fn check(&self, text: &[u8], scratch: &mut O::Scratch) -> Checked {
        let (mut lines, mut begin) = (0, 0);
        let mut previous: Option<(u64, &[u8])> = None;
        for end in memchr::memchr_iter(self.delimiter, text) {
            let line = &text[begin..end];
            let word = if self.has_words { self.order.word(line, 0, scratch) } else { 0 };
            lines += 1;
            let by = previous.map_or(Ordering::Less, |(word_before, before)| {
                word_before.cmp(&word).then_with(|| self.order.compare(before, line, scratch))
            });
            if by == Ordering::Greater || (self.is_unique && by == Ordering::Equal) {
                return Checked { lines, disorder: Some(begin..end) };
            }
            begin = end + 1;
            previous = Some((word, line));
        }
        Checked { lines, disorder: None }
    }
}
