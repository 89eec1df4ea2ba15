//! The check of lines in memory: each with the one before it.

use std::cmp::Ordering;
use std::ops::Range;
use xsort_kernels::lines::{LineOrder, Words, for_each_line};

/// Keys of longer lines aren't made: they would take as much memory.
const KEYED_LINE_BYTES_MAX: usize = 4 << 10;

/// What is out of order.
pub(super) struct LineCheck<'o, O> {
    order: &'o O,
    delimiter: u8,
    is_unique: bool,
    /// Whether a word of a line costs less than a comparison. Where the words don't decide alone,
    /// because a language does, they cost more, unless a number comes first.
    has_words: bool,
    /// Whether the key of a line is made once.
    has_keys: bool,
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
        let has_keys = order.has_dear_keys();
        let has_words = !has_keys && (order.is_exact() || O::Words::COUNT == 1);
        LineCheck { order, delimiter, is_unique, has_words, has_keys }
    }

    /// Checks whole lines.
    pub(super) fn check(&self, text: &[u8], scratch: &mut O::Scratch) -> Checked {
        if self.has_keys {
            self.check_by_keys(text, scratch)
        } else {
            self.check_lines(text, scratch)
        }
    }

    fn check_lines(&self, text: &[u8], scratch: &mut O::Scratch) -> Checked {
        let mut word_before = 0;
        self.check_pairs(text, |before, line| {
            let word = if self.has_words { self.order.word(line, 0, scratch) } else { 0 };
            let by_word = std::mem::replace(&mut word_before, word).cmp(&word);
            match before {
                Some(before) => by_word.then_with(|| self.order.compare(before, line, scratch)),
                None => Ordering::Less,
            }
        })
    }

    /// The same where keys are dear: each is made once.
    fn check_by_keys(&self, text: &[u8], scratch: &mut O::Scratch) -> Checked {
        let (mut key_before, mut key) = (Vec::new(), Vec::new());
        self.check_pairs(text, |before, line| {
            std::mem::swap(&mut key_before, &mut key);
            key.clear();
            if line.len() <= KEYED_LINE_BYTES_MAX {
                self.order.push_key(line, scratch, &mut key);
            }
            match before {
                Some(before) if before.len().max(line.len()) > KEYED_LINE_BYTES_MAX => {
                    self.order.compare(before, line, scratch)
                }
                Some(_) => key_before.cmp(&key),
                None => Ordering::Less,
            }
        })
    }

    /// Checks lines, each with the one before it, as `compare` orders them.
    #[inline(always)]
    fn check_pairs<'t>(
        &self,
        text: &'t [u8],
        mut compare: impl FnMut(Option<&'t [u8]>, &'t [u8]) -> Ordering,
    ) -> Checked {
        let (mut checked, mut before) = (Checked { lines: 0, disorder: None }, None);
        for_each_line(text, self.delimiter, |begin, end| {
            // Nobody asks for what is behind.
            if checked.disorder.is_none() {
                let line = &text[begin..end];
                checked.lines += 1;
                let by = compare(before, line);
                if by == Ordering::Greater || (self.is_unique && by == Ordering::Equal) {
                    checked.disorder = Some(begin..end);
                }
                before = Some(line);
            }
        });
        checked
    }
}
