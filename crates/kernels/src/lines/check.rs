//! Checking the order of lines in memory: each line is compared with the preceding one.

use super::{LineOrder, for_each_line};
use std::cmp::Ordering;
use std::ops::Range;

/// Keys of longer lines aren't built: they would take as much memory as the lines.
const KEYED_LINE_BYTES_MAX: usize = 4 << 10;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedLines {
    /// Number of lines up to and including the first one out of order.
    pub lines: u64,
    /// The range of that line in the text; `None` if all lines are in order.
    pub disorder: Option<Range<usize>>,
}

/// Compares each line of `text` with the preceding one. Stops at the first line that is smaller,
/// or, with `is_unique`, equal. Costly keys are built once for each line.
pub(super) fn check_lines<O: LineOrder>(
    order: &O,
    text: &[u8],
    delimiter: u8,
    is_unique: bool,
    scratch: &mut O::Scratch,
) -> CheckedLines {
    if order.has_dear_keys() {
        let (mut key_before, mut key) = (Vec::new(), Vec::new());
        return check_pairs(text, delimiter, is_unique, |before, line| {
            std::mem::swap(&mut key_before, &mut key);
            key.clear();
            if line.len() <= KEYED_LINE_BYTES_MAX {
                order.push_key(line, scratch, &mut key);
            }
            match before {
                Some(before) if before.len().max(line.len()) > KEYED_LINE_BYTES_MAX => {
                    order.compare(before, line, scratch)
                }
                Some(_) => key_before.cmp(&key),
                None => Ordering::Less,
            }
        });
    }
    let has_words = order.has_cheap_words();
    let mut word_before = 0;
    check_pairs(text, delimiter, is_unique, |before, line| {
        let word = if has_words { order.word(line, 0, scratch) } else { 0 };
        let by_word = std::mem::replace(&mut word_before, word).cmp(&word);
        match before {
            Some(before) => by_word.then_with(|| order.compare(before, line, scratch)),
            None => Ordering::Less,
        }
    })
}

/// Compares each line with the preceding one, using `compare`.
#[inline(always)]
fn check_pairs<'t>(
    text: &'t [u8],
    delimiter: u8,
    is_unique: bool,
    mut compare: impl FnMut(Option<&'t [u8]>, &'t [u8]) -> Ordering,
) -> CheckedLines {
    let (mut checked, mut before) = (CheckedLines { lines: 0, disorder: None }, None);
    for_each_line(text, delimiter, |begin, end| {
        // Lines after the first disorder don't matter.
        if checked.disorder.is_none() {
            let line = &text[begin..end];
            checked.lines += 1;
            let by = compare(before, line);
            if by == Ordering::Greater || (is_unique && by == Ordering::Equal) {
                checked.disorder = Some(begin..end);
            }
            before = Some(line);
        }
    });
    checked
}
