//! Where a line belongs in a sorted run.

use super::{Entry, LineOrder};
use std::cmp::Ordering;

/// A search begins with a line about so many bytes ahead.
const FIRST_STEP: usize = 128;

/// A line to search for, and on which side of it equal lines are.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The line.
    pub line: &'a [u8],
    /// Whether equal lines come before the bound.
    pub include_equal: bool,
}

impl Bound<'_> {
    /// Whether the bound comes after a line that compares to its own as `order` says.
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
/// has its delimiter. Steps are doubled until one is too far (Bentley and Yao, An almost optimal
/// algorithm for unbounded searching, 1976): a merge of many runs takes few lines of each at once.
pub fn bound_in_text<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    bound: Bound<'_>,
    scratch: &mut O::Scratch,
) -> usize {
    // Both are where lines begin, or the end.
    let (mut low, mut high) = (0, text.len());
    let (mut step, mut is_beyond) = (FIRST_STEP, false);
    while low < high {
        let half = (high - low) / 2;
        let middle = low + if is_beyond { half } else { half.min(step) };
        let start = memchr::memrchr(delimiter, &text[low..middle]).map_or(low, |end| low + end + 1);
        let end = start + super::line_end(&text[start..high], delimiter);
        if bound.is_after(order.compare(&text[start..end], bound.line, scratch)) {
            low = (end + 1).min(high);
            step *= 2;
        } else {
            (high, is_beyond) = (start, true);
        }
    }
    low
}
