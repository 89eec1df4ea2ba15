//! Which lines are too late, and which may leave.
//!
//! Both follow from the lines that were read, and not from when they came or how many there were at
//! once. So the same input gives the same bytes, however it is read and with any budget.
//!
//! - If lines may come late by `n` lines, a line is too late if it belongs before one that came
//!   more than `n` lines earlier. It may leave once `n` lines have come after one that isn't less.
//! - If they may come late by a span, a line is too late if its number is less than the greatest
//!   one so far, less the span. It may leave once this is true of it.

use super::presorted::LineNumber;
use std::cmp::Ordering;
use xsort_kernels::lines::{LineComparer, LineKernels};

/// What is known of a line that waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    /// The number of lines read before; or the bits of the line's number, if lines may come late by
    /// a span.
    number: u64,
    /// The line's first key word, if words are cheaper than comparisons.
    word: u64,
}

impl Mark {
    /// The line's number, if lines may come late by a span.
    pub(super) fn of_span(self) -> f64 {
        f64::from_bits(self.number)
    }
}

/// What becomes of a line that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// It waits, with this mark.
    Waits(Mark),
    /// It equals a line that has left, of which only the first is wanted.
    Duplicate,
    TooLate,
}

/// Lines may come late by a number of lines.
pub(super) struct ByLines<'a> {
    most: u64,
    comparer: Box<dyn LineComparer + 'a>,
    /// True if the first word of a line is cheaper than a comparison.
    has_words: bool,
    /// Lines that were read.
    lines: u64,
    /// The greatest line of those that the next one must not belong before, and its first word.
    limit: Option<(u64, Vec<u8>)>,
    /// The lines that wait and are considered in the limit: their number and bytes.
    limited: (usize, usize),
    /// The limit when lines last left, if duplicates are dropped.
    left: Option<(u64, Vec<u8>)>,
    is_unique: bool,
}

impl<'a> ByLines<'a> {
    pub(super) fn new(most: u64, order: &'a dyn LineKernels, is_unique: bool) -> ByLines<'a> {
        ByLines {
            most,
            comparer: order.comparer(),
            has_words: order.has_cheap_words(),
            lines: 0,
            limit: None,
            limited: (0, 0),
            left: None,
            is_unique,
        }
    }

    /// Compares a line with the limit, if there is one.
    fn compare_limit(&mut self, line: &[u8], word: u64) -> Option<Ordering> {
        let (limit_word, limit) = self.limit.as_ref()?;
        Some(word.cmp(limit_word).then_with(|| self.comparer.compare(line, limit)))
    }

    /// Moves the limit to the lines that came `most` lines before the next one. `text` are the
    /// lines that wait, and `marks` their marks.
    fn advance(&mut self, text: &[u8], delimiter: u8, marks: &[Mark]) {
        let (mut at, mut from) = self.limited;
        while let Some(mark) = marks.get(at)
            && mark.number.saturating_add(self.most) < self.lines
            && let Some(bytes) = memchr::memchr(delimiter, &text[from..])
        {
            let line = &text[from..from + bytes];
            if self.compare_limit(line, mark.word).is_none_or(Ordering::is_gt) {
                let (word, limit) = self.limit.get_or_insert_default();
                *word = mark.word;
                limit.clear();
                limit.extend_from_slice(line);
            }
            (at, from) = (at + 1, from + bytes + 1);
        }
        self.limited = (at, from);
    }

    /// Judges the next line, without its delimiter. `text` are the lines that wait.
    pub(super) fn judge(
        &mut self,
        line: &[u8],
        text: &[u8],
        delimiter: u8,
        marks: &[Mark],
    ) -> Verdict {
        self.advance(text, delimiter, marks);
        let word = if self.has_words { self.comparer.word(line, line.len(), 0) } else { 0 };
        let mark = Mark { number: self.lines, word };
        self.lines += 1;
        if self.compare_limit(line, word).is_some_and(Ordering::is_lt) {
            return Verdict::TooLate;
        }
        match &self.left {
            Some((left_word, left)) if word == *left_word && self.comparer.same(left, line) => {
                Verdict::Duplicate
            }
            _ => Verdict::Waits(mark),
        }
    }

    /// Prepares that lines leave. Returns how many of the first lines may leave in any case, and
    /// their bytes; `None` if no line may leave yet.
    pub(super) fn begin(
        &mut self,
        text: &[u8],
        delimiter: u8,
        marks: &[Mark],
    ) -> Option<(usize, usize)> {
        self.advance(text, delimiter, marks);
        self.limit.as_ref()?;
        if self.is_unique {
            self.left.clone_from(&self.limit);
        }
        Some(std::mem::take(&mut self.limited))
    }

    /// True if a line with this mark may leave.
    pub(super) fn may_leave(&mut self, line: &[u8], mark: Mark) -> bool {
        self.compare_limit(line, mark.word).is_some_and(Ordering::is_le)
    }

    /// True if the first line that waits may leave once the next one has come.
    pub(super) fn is_over(&self, first: Mark) -> bool {
        first.number.saturating_add(self.most) < self.lines
    }

    /// Counts a line that is only read.
    pub(super) fn skip(&mut self) {
        self.lines += 1;
    }
}

/// Lines may come late by a span.
pub(super) struct BySpan<'a> {
    pub(super) span: f64,
    number: &'a LineNumber<'a>,
    /// The greatest finite number.
    most: f64,
}

impl<'a> BySpan<'a> {
    pub(super) fn new(span: f64, number: &'a LineNumber<'a>) -> BySpan<'a> {
        BySpan { span, number, most: f64::NEG_INFINITY }
    }

    /// The least number that isn't too late.
    pub(super) fn limit(&self) -> f64 {
        self.most - self.span
    }

    /// The number of a line.
    pub(super) fn number(&self, line: &[u8]) -> f64 {
        (self.number)(line)
    }

    /// Judges the next line, without its delimiter.
    pub(super) fn judge(&mut self, line: &[u8]) -> Verdict {
        let number = (self.number)(line);
        if number < self.limit() {
            return Verdict::TooLate;
        }
        if number.is_finite() {
            self.most = self.most.max(number);
        }
        Verdict::Waits(Mark { number: number.to_bits(), word: 0 })
    }

    /// True if the line with this mark may leave.
    pub(super) fn may_leave(&self, mark: Mark) -> bool {
        mark.of_span() < self.limit()
    }
}
