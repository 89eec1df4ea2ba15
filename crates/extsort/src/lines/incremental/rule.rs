//! Which lines are too late, and which may leave.
//!
//! Both follow from the lines that were read, and not from when they came or how many there were at
//! once. So the same input gives the same bytes, however it is read and with any budget.
//!
//! Lines may come late by `n` lines: then one is too late that belongs before a line which came more
//! than `n` lines earlier, and one may leave that isn't greater than a line which came `n` lines
//! before the next one. Or they may come late by a span: then both is so of a line whose number is
//! less than the greatest one so far, less the span.

use super::presorted::LineNumber;
use std::cmp::Ordering;
use xsort_kernels::lines::LineComparer;

/// What becomes of a line that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// It waits, with this mark.
    Waits(u64),
    /// It equals a line that has left, of which only the first is wanted.
    Duplicate,
    TooLate,
}

/// Lines may come late by a number of lines. A mark is the number of lines read before.
pub(super) struct ByLines<'a> {
    most: u64,
    comparer: Box<dyn LineComparer + 'a>,
    /// Lines that were read.
    lines: u64,
    /// The greatest line of those that the next one must not belong before.
    limit: Option<Vec<u8>>,
    /// The lines that wait and are considered in the limit: their number and bytes.
    limited: (usize, usize),
    /// The limit when lines last left, if duplicates are dropped.
    left: Option<Vec<u8>>,
    is_unique: bool,
}

impl<'a> ByLines<'a> {
    pub(super) fn new(
        most: u64,
        comparer: Box<dyn LineComparer + 'a>,
        is_unique: bool,
    ) -> ByLines<'a> {
        ByLines { most, comparer, lines: 0, limit: None, limited: (0, 0), left: None, is_unique }
    }

    /// Moves the limit to the lines that came `most` lines before the next one. `text` are the
    /// lines that wait, and `marks` their marks.
    fn advance(&mut self, text: &[u8], delimiter: u8, marks: &[u64]) {
        let (mut at, mut from) = self.limited;
        while let Some(mark) = marks.get(at)
            && mark.saturating_add(self.most) < self.lines
            && let Some(bytes) = memchr::memchr(delimiter, &text[from..])
        {
            let line = &text[from..from + bytes];
            let is_greater = match &self.limit {
                Some(limit) => self.comparer.compare(limit, line) == Ordering::Less,
                None => true,
            };
            if is_greater {
                let limit = self.limit.get_or_insert_default();
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
        marks: &[u64],
    ) -> Verdict {
        self.advance(text, delimiter, marks);
        let mark = self.lines;
        self.lines += 1;
        match &self.limit {
            Some(limit) if self.comparer.compare(line, limit) == Ordering::Less => Verdict::TooLate,
            _ => match &self.left {
                Some(left) if self.comparer.same(left, line) => Verdict::Duplicate,
                _ => Verdict::Waits(mark),
            },
        }
    }

    /// Prepares that lines leave. Returns how many of the first lines may leave in any case, and
    /// their bytes; `None` if no line may leave yet.
    pub(super) fn begin(
        &mut self,
        text: &[u8],
        delimiter: u8,
        marks: &[u64],
    ) -> Option<(usize, usize)> {
        self.advance(text, delimiter, marks);
        let limit = self.limit.as_ref()?;
        if self.is_unique {
            self.left.clone_from(&self.limit);
        }
        debug_assert!(!limit.contains(&delimiter));
        Some(std::mem::take(&mut self.limited))
    }

    /// True if a line may leave.
    pub(super) fn may_leave(&mut self, line: &[u8]) -> bool {
        let limit = self.limit.as_ref();
        limit.is_some_and(|limit| self.comparer.compare(line, limit) != Ordering::Greater)
    }

    /// True if the first line that waits may leave once the next one has come.
    pub(super) fn is_over(&self, first: u64) -> bool {
        first.saturating_add(self.most) < self.lines
    }

    /// Counts a line that is only read.
    pub(super) fn skip(&mut self) {
        self.lines += 1;
    }
}

/// Lines may come late by a span. A mark is the bits of a line's number.
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
        Verdict::Waits(number.to_bits())
    }

    /// True if the line with this mark may leave.
    pub(super) fn may_leave(&self, mark: u64) -> bool {
        f64::from_bits(mark) < self.limit()
    }
}
