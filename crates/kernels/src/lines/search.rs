//! Where a line would go in a sorted run.

use super::{Entry, LineOrder};
use std::cmp::Ordering;

/// Number of leading entries whose lines come before `line`, or are equal to it if `include_equal`.
pub fn bound_in_entries<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    entries: &[Entry<O::Words>],
    line: &[u8],
    include_equal: bool,
    scratch: &mut O::Scratch,
) -> usize {
    let word = order.word(line, 0, scratch);
    entries.partition_point(|entry| {
        let by_word = entry.word().cmp(&word);
        let by_line =
            by_word.then_with(|| order.compare(entry.line(text, delimiter), line, scratch));
        is_before(by_line, include_equal)
    })
}

/// Number of leading bytes of a sorted text whose lines come before `line`, or are equal to it if
/// `include_equal`. Each line of the text has its delimiter.
pub fn bound_in_text<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    line: &[u8],
    include_equal: bool,
    scratch: &mut O::Scratch,
) -> usize {
    // Both are where lines begin, or the end.
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = memchr::memrchr(delimiter, &text[low..middle]).map_or(low, |end| low + end + 1);
        let end = start + super::line_end(&text[start..high], delimiter);
        if is_before(order.compare(&text[start..end], line, scratch), include_equal) {
            low = (end + 1).min(high);
        } else {
            high = start;
        }
    }
    low
}

fn is_before(order: Ordering, include_equal: bool) -> bool {
    order == Ordering::Less || include_equal && order == Ordering::Equal
}
