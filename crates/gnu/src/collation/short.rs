//! Keys that are hardly longer than their texts, for plain words.
//!
//! In a plain word the levels after the first add nothing: all its weights are the same there. And
//! the last level, by far the longest, distinguishes few texts that are equal on the others. So
//! runs of the *common* weight of a level are counted (as in ICU's sort keys), and text of
//! *regular* elements alone, most letters and digits, has no last level. The most frequent case is
//! one byte: regular text with common weights only.
//!
//! The same holds with a space before it, as in fields between blanks.
//!
//! ```text
//! text, up to its end or a NUL:
//!     first level, in codes | rest
//! rest: 6 that of regular text with common weights, 4 the same after a space;
//!       3 below these two, 5 between them, 7 above them, and then all of it:
//!     second level, counted | third level, counted | mark | end
//! mark: 6 regular, 4 regular after a space;
//!       3 below these two, 5 between them, 7 above them, then the last level and a 0
//! end:  5, 6 if text follows; without elements 3 and 4
//! ```
//!
//! The first-level and third-level weights of regular elements distinguish them in any sequence. So
//! at most one regular text has the weights of a given text there: its *twin*. The last level
//! orders the text relative to its twin, and to the twin with a space before it. All texts that are
//! equal on the first three levels have the same twins, so marks order them as the last level does.
//! Without twins all of them are marked as below.
//!
//! Likewise at most one regular text with common weights only has the first-level weights of a
//! given text. All texts that are equal there are ordered relative to that text's rest, or, if
//! there is none, are all marked as above.
//!
//! If there is no other level, as in Japanese, the end follows the weights of the first, which
//! stand for themselves.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::mem::take;

use super::codes::Codes;
use super::levels::Places;
use super::rows::{BACKWARD, COUNT, SLOW};
use super::rules::{Elements, Place, Rules, WEIGHTS};
use crate::c_text::after_nul;

/// The number of levels for which regular elements are known. The second and third are counted.
const LEVELS: usize = 4;
const SECOND: usize = 1;
const THIRD: usize = 2;
const LAST: usize = 3;

/// Marks, and first bytes of the rest.
const BELOW: u8 = 3;
const SPACED: u8 = 4;
const BETWEEN: u8 = 5;
const REGULAR: u8 = 6;
const ABOVE: u8 = 7;
/// The end of a text without elements that nothing follows.
const END: u8 = 3;

/// Longest run of the common weight that one byte counts.
const RUN_MAX: usize = 40;
/// A run at the end of a level, plus twice its length.
const RUN_AND_END: u8 = 3;
/// A run before a lower byte, plus twice its length.
const RUN_AND_LOWER: u8 = 4;
/// One more than the longest run, followed by another run.
const RUN_AND_RUN: u8 = RUN_AND_LOWER + 2 * RUN_MAX as u8 + 1;
/// A run before a higher byte, minus its length.
const RUN_AND_HIGHER: u8 = 0xFF;

/// Length of the longest text that is tried as a plain one, in bytes.
const PLAIN_BYTES_MAX: usize = 4 << 10;
/// Most bytes of weights that one code stands for.
const WEIGHT_BYTES_MAX: usize = 3;
/// The byte that a text may have before regular elements.
const SPACE: u8 = b' ';

/// The regular elements of a language.
#[derive(Debug)]
pub(super) struct RegularElements {
    elements: HashSet<u32>,
    /// Properties of single bytes that are plain.
    plain: [Plain; 256],
    /// The common weights of the second and third level: those of lower-case letters.
    common: [u8; 2],
    /// Regular elements by their weights on the first and on the third level.
    by_weights: HashMap<(u32, u8), Place>,
    /// Codes of their weights on the first level.
    codes: Codes,
    /// True if a space counts on the last level only, and is lower there than all regular elements.
    has_space: bool,
    /// True if the first level is the last.
    has_one_level: bool,
}

/// A regular element of one byte with the common weight on the second level. In a language of one
/// level, any element of one byte whose weight also has one.
#[derive(Clone, Copy, Debug, Default)]
struct Plain {
    /// The code of its weight on the first level; 0 for other bytes.
    code: u8,
    /// Its weight on the third level.
    third: u8,
    /// True if a regular element with the same first weight has the common weight there.
    has_common: bool,
    /// True if the byte may begin other elements, too.
    is_lead: bool,
}

/// Work memory for a text.
#[derive(Debug, Default)]
pub(super) struct ShortWork {
    first: Vec<u8>,
    rest: Vec<u8>,
    common: Vec<u8>,
    second: Vec<u8>,
    third: Vec<u8>,
    last: Vec<u8>,
    twin: Places,
    /// The twin with a space before it.
    spaced: Places,
    of_twin: Vec<u8>,
}

impl RegularElements {
    /// Selects the letters and digits of ASCII that qualify. `None` unless the language has one
    /// level or the usual ones.
    pub(super) fn new(rules: &Rules) -> Option<Self> {
        match rules.tables.levels {
            1 => return Some(Self::of_one_level(rules)),
            LEVELS if !rules.tables.has_backward(THIRD) => {}
            _ => return None,
        }
        let mut regular =
            Self { common: [SECOND, THIRD].map(|level| common(rules, level)), ..Self::none() };
        let mut plain = Vec::new();
        for byte in (0..=u8::MAX).filter(u8::is_ascii_alphanumeric) {
            let Some((place, first)) = Elements::new(rules, &[byte]).next() else { continue };
            let third = rules.entry(place, THIRD);
            let is_plain = first & SLOW == 0 && first & COUNT > 0 && third & (COUNT | SLOW) == 1;
            let weights = (first & (WEIGHTS | COUNT), (third >> 24) as u8);
            if is_plain && regular.is_distinct(weights) {
                regular.by_weights.insert(weights, place);
                regular.elements.insert(rules.element(place));
                let second = rules.entry(place, SECOND);
                let has_one = second & (COUNT | SLOW | BACKWARD) == 1;
                if has_one && (second >> 24) as u8 == regular.common[0] {
                    plain.push((byte, weights, place != Rules::place_of(byte)));
                }
            }
        }
        regular.codes = Codes::new(regular.by_weights.keys().map(|&(first, _)| first));
        for (byte, (first, third), is_lead) in plain {
            let Some(code) = regular.codes.of(first) else { continue };
            let has_common = regular.has_common(first);
            regular.plain[usize::from(byte)] = Plain { code, third, has_common, is_lead };
        }
        regular.has_space = regular.is_space_low(rules);
        Some(regular)
    }

    fn none() -> Self {
        Self {
            elements: HashSet::new(),
            plain: [Plain::default(); 256],
            common: [0; 2],
            by_weights: HashMap::new(),
            codes: Codes::none(),
            has_space: false,
            has_one_level: false,
        }
    }

    /// For a language of one level: the bytes of ASCII with a one-byte weight are plain.
    fn of_one_level(rules: &Rules) -> Self {
        let mut regular = Self { has_one_level: true, ..Self::none() };
        for byte in 1..0x80 {
            let Some((place, first)) = Elements::new(rules, &[byte]).next() else { continue };
            let (is_single, weight) = (first & (COUNT | SLOW) == 1, (first >> 24) as u8);
            if is_single && Codes::is_as_it_is(weight) {
                let is_lead = place != Rules::place_of(byte);
                regular.plain[usize::from(byte)] =
                    Plain { code: weight, is_lead, ..Plain::default() };
            }
        }
        regular
    }

    /// True if a space counts on the last level only, and sorts before every regular element.
    fn is_space_low(&self, rules: &Rules) -> bool {
        let space = Rules::place_of(SPACE);
        let is_ignored = |level| rules.entry(space, level) & (COUNT | SLOW) == 0;
        let (mut places, mut spaced, mut alone) = (Places::default(), Vec::new(), Vec::new());
        let mut is_before = |&place: &Place| {
            places.clear();
            places.push(space);
            places.push(place);
            rules.encode_level_alone(LAST, &mut places, &mut spaced);
            places.clear();
            places.push(place);
            rules.encode_level_alone(LAST, &mut places, &mut alone);
            // They must differ within their common length, so that the following bytes don't
            // matter.
            spaced < alone && !alone.starts_with(&spaced)
        };
        (0..LAST).all(is_ignored)
            && !rules.tables.has_backward(LAST)
            && self.by_weights.values().all(&mut is_before)
    }

    /// True if no other element has these weights, and no first-level weight is a prefix of another
    /// one.
    fn is_distinct(&self, weights: (u32, u8)) -> bool {
        let is_beginning = |&(other, _): &(u32, u8)| {
            let count = (other & COUNT).min(weights.0 & COUNT);
            other != weights.0 && (other ^ weights.0) & !(u32::MAX >> (8 * count)) == 0
        };
        !self.by_weights.contains_key(&weights) && !self.by_weights.keys().any(is_beginning)
    }

    /// True if an element has these weights on the first level, and the common one on the third.
    fn has_common(&self, first: u32) -> bool {
        self.by_weights.contains_key(&(first, self.common[1]))
    }

    /// Number of elements in the regular text with common weights that has these first-level
    /// weights, if there is one.
    fn common_elements(&self, first: &[u8]) -> Option<usize> {
        let mut elements = 0;
        let is_common = |weights| {
            elements += 1;
            self.has_common(weights)
        };
        self.codes.are_known(first, is_common).then_some(elements)
    }

    /// Finds the elements of the regular text with these weights on the first and third level, with
    /// and without a space before it. Returns false if there is none.
    fn spell(&self, mut first: &[u8], third: &[u8], [spaced, twin]: [&mut Places; 2]) -> bool {
        twin.clear();
        spaced.clear();
        spaced.push(Rules::place_of(SPACE));
        for &weight in third {
            let element = (1..=first.len().min(3)).find_map(|count| {
                let mut word = [0; 4];
                word[..count].copy_from_slice(&first[..count]);
                let weights = u32::from_be_bytes(word) | count as u32;
                Some((count, *self.by_weights.get(&(weights, weight))?))
            });
            let Some((count, place)) = element else { return false };
            twin.push(place);
            spaced.push(place);
            first = &first[count..];
        }
        first.is_empty()
    }
}

impl Rules {
    /// Appends the short key of a text of plain bytes. Returns false for any other text, and for a
    /// long one.
    pub(super) fn encode_plain(
        &self,
        regular: &RegularElements,
        text: &[u8],
        work: &mut ShortWork,
        out: &mut Vec<u8>,
    ) -> bool {
        if text.len() > PLAIN_BYTES_MAX {
            return false;
        }
        let (text, mark) = match text {
            [SPACE, rest @ ..] if regular.has_space && !rest.is_empty() => (rest, SPACED),
            _ if regular.has_one_level => (text, end_byte(!text.is_empty(), false)),
            _ => (text, REGULAR),
        };
        let from = out.len();
        let (mut differ, mut has_common) = (0, true);
        for (at, &byte) in text.iter().enumerate() {
            let plain = regular.plain[usize::from(byte)];
            let is_alone = || {
                let next = text.get(at + 1).copied().unwrap_or(0);
                self.element_of_lead(byte, next) == self.element_of_lead(byte, 0)
            };
            if plain.code == 0 || plain.is_lead && !is_alone() {
                out.truncate(from);
                return false;
            }
            out.push(plain.code);
            differ |= plain.third ^ regular.common[1];
            has_common &= plain.has_common;
        }
        if differ == 0 {
            out.push(mark);
            return true;
        }
        let mut rest = take(&mut work.rest);
        rest.clear();
        push_last_run(text.len(), &mut rest);
        work.third.clear();
        work.third.extend(text.iter().map(|&byte| regular.plain[usize::from(byte)].third));
        push_counted(&work.third, regular.common[1], &mut rest);
        rest.extend([mark, end_byte(!text.is_empty(), false)]);
        push_rest(&rest, has_common.then_some(text.len()), &mut work.common, out);
        work.rest = rest;
        true
    }

    /// Appends the short key of any text, at least its first `limit` bytes.
    pub(super) fn encode_any(
        &self,
        regular: &RegularElements,
        text: &[u8],
        limit: usize,
        (places, work): (&mut Places, &mut ShortWork),
        out: &mut Vec<u8>,
    ) {
        let end = out.len().saturating_add(limit);
        let (mut first, mut rest) = (take(&mut work.first), take(&mut work.rest));
        let mut left = Some(text);
        while let Some(text) = left.filter(|_| out.len() < end) {
            first.clear();
            let most = (end - out.len()).saturating_add(2).saturating_mul(WEIGHT_BYTES_MAX);
            if !self.encode_first(text, most, places, &mut first) {
                // The last weight may be incomplete, but it is beyond the limit.
                regular.codes.push(&first[..most - WEIGHT_BYTES_MAX], out);
                break;
            }
            first.pop();
            regular.codes.push(&first, out);
            left = after_nul(text);
            let last = end_byte(!places.is_empty(), left.is_some());
            if regular.has_one_level {
                out.push(last);
                continue;
            }
            rest.clear();
            self.encode_level_alone(SECOND, places, &mut work.second);
            push_counted(&work.second, regular.common[0], &mut rest);
            self.encode_level_alone(THIRD, places, &mut work.third);
            push_counted(&work.third, regular.common[1], &mut rest);
            self.push_mark(regular, &first, places, work, &mut rest);
            rest.push(last);
            push_rest(&rest, regular.common_elements(&first), &mut work.common, out);
        }
        (work.first, work.rest) = (first, rest);
    }

    /// Appends the mark of a text, and its last level if needed. `first` is its first level, and
    /// `work` has its third.
    fn push_mark(
        &self,
        regular: &RegularElements,
        first: &[u8],
        places: &mut Places,
        work: &mut ShortWork,
        out: &mut Vec<u8>,
    ) {
        if places.iter().all(|place| regular.elements.contains(&self.element(place))) {
            return out.push(REGULAR);
        }
        self.encode_level_alone(LAST, places, &mut work.last);
        let twins = [&mut work.spaced, &mut work.twin];
        let mark = match regular.spell(first, &work.third, twins) {
            true => self.beside_twins(regular, work),
            false => BELOW,
        };
        out.push(mark);
        if ![SPACED, REGULAR].contains(&mark) {
            out.extend_from_slice(&work.last);
            out.push(0);
        }
    }

    /// The mark of a text relative to its twins, as far as these have the same weights.
    fn beside_twins(&self, regular: &RegularElements, work: &mut ShortWork) -> u8 {
        let ShortWork { second, third, last, spaced, twin, of_twin, .. } = work;
        let has_spaced = regular.has_space && !twin.is_empty();
        let mut mark = BELOW;
        for (twin, equal, above, is_there) in
            [(spaced, SPACED, BETWEEN, has_spaced), (twin, REGULAR, ABOVE, true)]
        {
            let mut has = |level, own: &[u8]| {
                self.encode_level_alone(level, twin, of_twin);
                of_twin == own
            };
            if !is_there || !has(SECOND, second) || !has(THIRD, third) {
                continue;
            }
            self.encode_level_alone(LAST, twin, of_twin);
            match last.as_slice().cmp(of_twin) {
                Ordering::Less => break,
                Ordering::Equal => return equal,
                Ordering::Greater => mark = above,
            }
        }
        mark
    }

    /// Writes a level other than the first, without the 0 after it.
    fn encode_level_alone(&self, level: usize, places: &mut Places, out: &mut Vec<u8>) {
        out.clear();
        self.encode_level(level, places, out);
        out.pop();
    }
}

/// Appends the rest of a key, relative to that of the regular text with common weights and the same
/// first level. `elements` is that text's number of elements, if it exists.
fn push_rest(rest: &[u8], elements: Option<usize>, common: &mut Vec<u8>, out: &mut Vec<u8>) {
    let mut begin = ABOVE;
    if let Some(elements) = elements {
        begin = BELOW;
        common.clear();
        push_last_run(elements, common);
        push_last_run(elements, common);
        let end = end_byte(elements > 0, false);
        for (mark, above) in [(SPACED, BETWEEN), (REGULAR, ABOVE)] {
            common.extend([mark, end]);
            match rest.cmp(common) {
                Ordering::Less => break,
                Ordering::Equal => return out.push(mark),
                Ordering::Greater => begin = above,
            }
            common.truncate(common.len() - 2);
        }
    }
    out.push(begin);
    out.extend_from_slice(rest);
}

/// The end of a text, by whether it has elements and whether more text follows.
#[inline]
fn end_byte(has_elements: bool, has_more: bool) -> u8 {
    END + 2 * u8::from(has_elements) + u8::from(has_more)
}

/// The weight that most letters have on a level.
fn common(rules: &Rules, level: usize) -> u8 {
    let element = Elements::new(rules, b"a").next();
    element.map_or(0, |(place, _)| (rules.entry(place, level) >> 24) as u8)
}

/// Appends the bytes of a level, with runs of the common weight counted and its end marked. The
/// result compares as the level does.
fn push_counted(level: &[u8], common: u8, out: &mut Vec<u8>) {
    let mut rest = level;
    loop {
        let run = rest.iter().take_while(|&&byte| byte == common).count();
        let Some((&byte, behind)) = rest[run..].split_first() else {
            return push_last_run(run, out);
        };
        let run = push_long_run(run, out);
        let is_lower = byte < common;
        out.push(if is_lower { RUN_AND_LOWER + 2 * run } else { RUN_AND_HIGHER - run });
        out.push(byte);
        rest = behind;
    }
}

/// Appends a run at the end of a level.
#[inline]
fn push_last_run(run: usize, out: &mut Vec<u8>) {
    let run = push_long_run(run, out);
    out.push(RUN_AND_END + 2 * run);
}

/// Appends the part of a run that exceeds one byte's count. Returns the rest of its length.
#[inline]
fn push_long_run(mut run: usize, out: &mut Vec<u8>) -> u8 {
    while run > RUN_MAX {
        out.push(RUN_AND_RUN);
        run -= RUN_MAX + 1;
    }
    run as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const COMMON: u8 = 2;

    fn counted(level: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_counted(level, COMMON, &mut out);
        out
    }

    proptest! {
        #[test]
        fn counted_levels_compare_as_before(
            runs in vec(vec((0usize..100, 0u8..5), 0..4), 2),
            ends in vec(0usize..3, 2),
        ) {
            let level = |at: usize| {
                let runs = runs[at].iter().flat_map(|&(run, byte)| {
                    let same = std::iter::repeat_n(COMMON, run);
                    same.chain((byte != COMMON).then_some(byte))
                });
                runs.chain(std::iter::repeat_n(COMMON, ends[at])).collect::<Vec<u8>>()
            };
            let (a, b) = (level(0), level(1));
            prop_assert_eq!(counted(&a).cmp(&counted(&b)), a.cmp(&b));
            // None is a prefix of another one.
            prop_assert!(a == b || !counted(&b).starts_with(&counted(&a)));
        }
    }
}
