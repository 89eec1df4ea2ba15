//! Keys apart from their lines: bytes that are built once and travel before the line, so that its
//! fields are found only once.

use std::cmp::Ordering;
use std::ops::Range;

use super::{Head, Key, Order, Records, Scratch};

/// Words of the last resort at the end of keys, for [`Ties::Judged`]. They decide most ties.
const LAST_RESORT_WORDS: usize = 2;

/// Keys that may be several times as long as their texts are cut to this many bytes.
const CUT_BYTES: usize = 64 << 10;

/// Keys are short if they have at most this share of the bytes of the keys used for words, as a
/// divisor.
const SHORT_SHARE: usize = 2;

/// The order of lines whose keys from [`LineKeys::push`] are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The lines are equal.
    Equal,
    /// By their bytes.
    Bytes,
    /// By [`LineKeys::compare_ties`].
    Judged,
}

/// Where a key is stored that is a part of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A copy before the line.
    Before,
    /// At the beginning of its line, where it stays.
    Beginning,
    /// Moved from its line to the front. The bytes before the key, with its first byte if that
    /// stays, tell that the key comes next.
    Moved {
        /// True if the first byte after the bytes before the key is in both places.
        first_stays: bool,
    },
}

/// The keys of an order without its last resort.
#[derive(Clone, Debug)]
pub struct LineKeys {
    order: Order,
    /// The order without its last resort.
    keys: Order,
    ties: Ties,
    /// True if a key is an unchanged part of the line.
    are_parts: bool,
    /// True if lines with equal bytes of their keys, which aren't cut, have equal keys.
    are_complete: bool,
    /// Longer keys are cut. Keys by the rules of a language are several times as long as their
    /// texts, except for plain words.
    key_bytes_max: usize,
}

impl LineKeys {
    /// The keys of `order`. `None` if reading the lines again is cheaper than keeping keys, even
    /// where many lines have equal words, or where many lines stay equal by the rules of a language
    /// and all would be judged. `is_unique` is true if only the first of equal lines is kept.
    #[must_use]
    pub fn new(order: &Order, is_unique: bool) -> Option<LineKeys> {
        let can_be_short = order.keys.iter().all(Key::can_be_short);
        let may_be_long = !order.keys.iter().all(Key::has_short_bytes);
        let is_dear = order.is_dear() || order.is_dear_where_keys_repeat();
        if !can_be_short || !is_dear || may_be_long && order.last_resort.is_none() {
            return None;
        }
        Some(LineKeys::always(order, is_unique))
    }

    /// The keys of `order`, whatever they cost.
    #[must_use]
    pub fn always(order: &Order, is_unique: bool) -> LineKeys {
        let are_complete = order.keys.iter().all(|key| key.can_be_short() && key.is_exact());
        let may_be_long = !order.keys.iter().all(Key::has_short_bytes);
        let mut keys = order.clone();
        let last_resort = keys.last_resort.take();
        keys.keys.iter_mut().for_each(|key| key.is_short = key.can_be_short());
        let has_nans = is_unique && order.may_have_nans();
        let ties = match last_resort {
            _ if has_nans || may_be_long => Ties::Judged,
            None => Ties::Equal,
            Some(whole) if !whole.is_reverse && whole.is_whole_text() => Ties::Bytes,
            Some(_) => Ties::Judged,
        };
        let last = keys.keys.last_mut().expect("there is at least one");
        last.is_open = !last.is_reverse && ties != Ties::Judged;
        keys.head = keys.choose_head();
        let key_bytes_max = if may_be_long { CUT_BYTES } else { usize::MAX };
        let are_parts = matches!(keys.head, Head::Line | Head::Part);
        LineKeys { order: order.clone(), keys, ties, are_parts, are_complete, key_bytes_max }
    }

    /// True if the keys of such lines are short. By the rules of a language those of plain words
    /// are. Others take longer to build and compare than the lines.
    pub fn are_short<'l>(&self, lines: impl Iterator<Item = &'l [u8]>) -> bool {
        let (mut scratch, mut short, mut whole) = (Scratch::default(), Vec::new(), Vec::new());
        if self.keys.keys.iter().all(Key::is_short_anyway) {
            return true;
        }
        for line in lines {
            self.keys.encode(line, &mut scratch, &mut short);
            for key in &self.order.keys {
                key.encode(line, &self.order.fields, usize::MAX, &mut scratch.a, &mut whole);
            }
        }
        short.len() <= whole.len() / SHORT_SHARE
    }

    /// The part of a line that is its key, if keys are unchanged parts of their lines.
    #[inline]
    #[must_use]
    pub fn part_of(&self, line: &[u8]) -> Option<Range<usize>> {
        self.are_parts.then(|| {
            let (start, end) = self.keys.keys[0].span.bounds(line, &self.keys.fields);
            start..end.max(start)
        })
    }

    /// Where keys are stored that are parts of their lines.
    #[must_use]
    pub fn place(&self) -> KeyPlace {
        let span = &self.keys.keys[0].span;
        match self.ties {
            _ if !self.are_parts => KeyPlace::Before,
            Ties::Judged => KeyPlace::Before,
            _ if span.begins_line() && !span.start_blanks => KeyPlace::Beginning,
            // In other records, a line that ends early may be followed by any byte.
            _ if self.order.records.is_some() => match self.order.records {
                Some(Records::Lines(lines)) if span.begins_later_line(lines) => {
                    KeyPlace::Moved { first_stays: false }
                }
                _ => KeyPlace::Before,
            },
            _ => KeyPlace::Moved { first_stays: span.is_begun_by_a_byte(&self.keys.fields) },
        }
    }

    /// The order of lines with equal keys.
    #[must_use]
    pub fn ties(&self) -> Ties {
        self.ties
    }

    /// Appends the bytes of a line's keys, which compare as the keys do. No key is a prefix of
    /// another one, if its end sorts before any byte. For [`Ties::Judged`] the first bytes of the
    /// last resort follow.
    pub fn push(&self, line: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
        let from = out.len();
        self.keys.encode_at_most(line, self.key_bytes_max, scratch, out);
        if out.len() - from >= self.key_bytes_max {
            return out.truncate(from + self.key_bytes_max);
        }
        if let (Ties::Judged, Some(last_resort)) = (self.ties, &self.order.last_resort)
            && self.are_complete
        {
            let fields = &self.order.fields;
            last_resort.encode_words::<LAST_RESORT_WORDS>(line, fields, &mut scratch.a, out);
        }
    }

    /// Orders two lines whose keys are equal in at least `key_bytes` bytes.
    pub fn compare_ties(
        &self,
        a: &[u8],
        b: &[u8],
        key_bytes: usize,
        scratch: &mut Scratch,
    ) -> Ordering {
        if key_bytes >= self.key_bytes_max || !self.are_complete {
            return self.order.compare(a, b, scratch);
        }
        match &self.order.last_resort {
            Some(last_resort) => last_resort.compare(a, b, &self.order.fields, scratch),
            None => Ordering::Equal,
        }
    }

    /// True if only one of two lines with equal key bytes is kept.
    pub fn same(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> bool {
        self.order.same(a, b, scratch)
    }
}
