//! Finding the position of a line in a sorted run.

use super::{Entry, LineOrder};
use std::cmp::Ordering;

/// Minimum size in bytes of a search's first step.
const FIRST_STEP: usize = 128;
/// The first step is one in `EXPECTED_SHARE` of the expected result, if that is larger.
const EXPECTED_SHARE: usize = 8;

/// A line to search for, and the side on which equal lines are.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The line.
    pub line: &'a [u8],
    /// True if equal lines come before the bound.
    pub include_equal: bool,
}

impl Bound<'_> {
    /// True if the bound comes after a line. `order` is the result of comparing that line with the
    /// bound's.
    pub fn is_after(self, order: Ordering) -> bool {
        order == Ordering::Less || self.include_equal && order == Ordering::Equal
    }
}

/// Number of leading entries whose lines come before `bound`.
pub fn bound_in_entries<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    entries: &[Entry<O::Words>],
    bound: Bound<'_>,
    scratch: &mut O::Scratch,
) -> usize {
    let word = order.word(bound.line, 0, scratch);
    entries.partition_point(|entry| {
        let by_word = entry.word().cmp(&word);
        let by_line =
            by_word.then_with(|| order.compare(entry.line(text, delimiter), bound.line, scratch));
        bound.is_after(by_line)
    })
}

/// Number of leading bytes of a sorted text whose lines come before `bound`. Each line of the text
/// has its delimiter. The search starts at the caller's estimate `expected` and doubles its steps
/// until it has passed the bound (Bentley and Yao, An almost optimal algorithm for unbounded
/// searching, 1976). This saves probes, each of which reads a distant place in memory.
pub fn bound_in_text<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    bound: Bound<'_>,
    expected: usize,
    scratch: &mut O::Scratch,
) -> usize {
    // Both are beginnings of lines, or the end of the text.
    let (mut low, mut high) = (0, text.len());
    let (mut is_low_known, mut is_high_known) = (false, false);
    let mut step = (expected / EXPECTED_SHARE).max(FIRST_STEP);
    while low < high {
        let middle = match (is_low_known, is_high_known) {
            (false, false) => expected,
            (true, false) => low.saturating_add(step),
            (false, true) => high.saturating_sub(step),
            (true, true) => low + (high - low) / 2,
        };
        if is_low_known != is_high_known {
            step = step.saturating_mul(2);
        }
        let middle = middle.clamp(low, high - 1);
        let start = memchr::memrchr(delimiter, &text[low..middle]).map_or(low, |end| low + end + 1);
        let end = start + super::line_end(&text[start..high], delimiter);
        if bound.is_after(order.compare(&text[start..end], bound.line, scratch)) {
            (low, is_low_known) = ((end + 1).min(high), true);
        } else {
            (high, is_high_known) = (start, true);
        }
    }
    low
}
