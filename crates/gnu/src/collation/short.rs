//! Keys that are hardly longer than their texts, where these are plain words.
//!
//! Of a plain word the levels behind the first say nothing: all its weights are the lowest there.
//! And the last level, much the longest, tells few texts apart that are equal on the others. So
//! runs of the lowest weight are counted (as in ICU's sort keys), and text of *regular* elements
//! alone, most letters and digits, has no last level.
//!
//! ```text
//! text, up to its end or a NUL:
//!     first level | 0 | second level, counted | third level, counted | mark | end
//! mark: 4 regular; 3 below, 5 above its twin, then the last level and a 0
//! end:  5, 6 if text follows; without elements 3 and 4
//! ```
//!
//! The weights of regular elements on the first and third level tell them apart, however many
//! follow each other. So of all regular texts at most one has the weights of a given text there:
//! its *twin*. The last level of both orders them; text without a twin is marked as below it. All
//! texts that are equal on the first three levels have the same twin, so marks order them as the
//! last level does.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::levels::Places;
use super::rows::{COUNT, SLOW};
use super::rules::{Elements, Place, Rules, WEIGHTS};
use crate::c_text::after_nul;

/// The levels that regular elements are known for: the second and third are counted.
const LEVELS: usize = 4;
const SECOND: usize = 1;
const THIRD: usize = 2;
const LAST: usize = 3;

/// Marks.
const BELOW: u8 = 3;
const REGULAR: u8 = 4;
const ABOVE: u8 = 5;
/// The end of a text without elements that nothing follows.
const END: u8 = 3;

/// The lowest weight of a level, which most elements have.
const LOWEST: u8 = 2;
/// Longest run of it that a byte counts.
const RUN_MAX: usize = 40;
/// A run at the end of a level; plus twice its length.
const RUN_AND_END: u8 = 3;
/// A run before a lower byte, which no locale has; plus twice its length.
const RUN_AND_LOWER: u8 = 4;
/// One more than the longest run, and another run.
const RUN_AND_RUN: u8 = RUN_AND_LOWER + 2 * RUN_MAX as u8 + 1;
/// A run before a higher byte; minus its length.
const RUN_AND_HIGHER: u8 = 0xFF;

/// The regular elements of a language.
#[derive(Debug)]
pub(super) struct RegularElements {
    elements: HashSet<u32>,
    /// Those of single bytes.
    bytes: [bool; 256],
    /// By their weights on the first and on the third level.
    by_weights: HashMap<(u32, u8), Place>,
}

/// Work memory for a text.
#[derive(Debug, Default)]
pub(super) struct ShortWork {
    second: Vec<u8>,
    third: Vec<u8>,
    last: Vec<u8>,
    twin: Places,
    of_twin: Vec<u8>,
}

impl RegularElements {
    /// Those of the letters and digits of ASCII that qualify; `None` if the language has other
    /// levels than most.
    pub(super) fn new(rules: &Rules) -> Option<Self> {
        if rules.tables.levels != LEVELS || rules.tables.has_backward(THIRD) {
            return None;
        }
        let mut regular =
            Self { elements: HashSet::new(), bytes: [false; 256], by_weights: HashMap::new() };
        for byte in (0..=u8::MAX).filter(u8::is_ascii_alphanumeric) {
            let Some((place, first)) = Elements::new(rules, &[byte]).next() else { continue };
            let third = rules.entry(place, THIRD);
            let is_plain = first & SLOW == 0 && first & COUNT > 0 && third & (COUNT | SLOW) == 1;
            let weights = (first & (WEIGHTS | COUNT), (third >> 24) as u8);
            if is_plain && regular.can_tell(weights) {
                regular.by_weights.insert(weights, place);
                regular.elements.insert(rules.element(place));
                regular.bytes[usize::from(byte)] = place == Rules::place_of(byte);
            }
        }
        Some(regular)
    }

    /// Whether an element of these weights can be told from all others, even if those of the first
    /// level are followed by any.
    fn can_tell(&self, weights: (u32, u8)) -> bool {
        let is_beginning = |&(other, _): &(u32, u8)| {
            let count = (other & COUNT).min(weights.0 & COUNT);
            other != weights.0 && (other ^ weights.0) & !(u32::MAX >> (8 * count)) == 0
        };
        !self.by_weights.contains_key(&weights) && !self.by_weights.keys().any(is_beginning)
    }

    /// Finds the elements of a regular text that has these weights on the first and third level.
    fn spell(&self, mut first: &[u8], third: &[u8], twin: &mut Places) -> bool {
        twin.clear();
        for &weight in third {
            let element = (1..=first.len().min(3)).find_map(|count| {
                let mut word = [0; 4];
                word[..count].copy_from_slice(&first[..count]);
                let weights = u32::from_be_bytes(word) | count as u32;
                Some((count, *self.by_weights.get(&(weights, weight))?))
            });
            let Some((count, place)) = element else { return false };
            twin.push(place);
            first = &first[count..];
        }
        first.is_empty()
    }
}

impl Rules {
    /// Appends the short key of `text`.
    pub(super) fn encode_short(
        &self,
        regular: &RegularElements,
        text: &[u8],
        places: &mut Places,
        work: &mut ShortWork,
        out: &mut Vec<u8>,
    ) {
        let mut rest = Some(text);
        while let Some(text) = rest {
            let from = out.len();
            self.encode_first(text, usize::MAX, places, out);
            let first = from..out.len() - 1;
            self.encode_level_alone(SECOND, places, &mut work.second);
            push_counted(&work.second, out);
            self.encode_level_alone(THIRD, places, &mut work.third);
            push_counted(&work.third, out);
            if places.iter().all(|place| self.is_regular(regular, place)) {
                out.push(REGULAR);
            } else {
                self.encode_level_alone(LAST, places, &mut work.last);
                let beside_twin = match regular.spell(&out[first], &work.third, &mut work.twin) {
                    true => self.beside_twin(work),
                    false => Ordering::Less,
                };
                match beside_twin {
                    Ordering::Equal => out.push(REGULAR),
                    order => {
                        out.push(if order.is_lt() { BELOW } else { ABOVE });
                        out.extend_from_slice(&work.last);
                        out.push(0);
                    }
                }
            }
            rest = after_nul(text);
            let has_elements = if places.is_empty() { 0 } else { 2 };
            out.push(END + has_elements + u8::from(rest.is_some()));
        }
    }

    /// How a text compares with what was spelled, if that is its twin; as less if it isn't.
    fn beside_twin(&self, work: &mut ShortWork) -> Ordering {
        let ShortWork { second, third, last, twin, of_twin } = work;
        for (level, own) in [(SECOND, second), (THIRD, third)] {
            self.encode_level_alone(level, twin, of_twin);
            if of_twin != own {
                return Ordering::Less;
            }
        }
        self.encode_level_alone(LAST, twin, of_twin);
        last.cmp(&of_twin)
    }

    /// Writes another level than the first, without the 0 behind it.
    fn encode_level_alone(&self, level: usize, places: &mut Places, out: &mut Vec<u8>) {
        out.clear();
        self.encode_level(level, places, out);
        out.pop();
    }

    #[inline]
    fn is_regular(&self, regular: &RegularElements, place: Place) -> bool {
        match Rules::byte_of(place) {
            Some(byte) => regular.bytes[usize::from(byte)],
            None => regular.elements.contains(&self.element(place)),
        }
    }
}

/// Appends the bytes of a level, the runs of the lowest weight counted, and its end marked. Bytes
/// compare as before.
fn push_counted(level: &[u8], out: &mut Vec<u8>) {
    let mut rest = level;
    loop {
        let mut run = rest.iter().take_while(|&&byte| byte == LOWEST).count();
        rest = &rest[run..];
        while run > RUN_MAX {
            out.push(RUN_AND_RUN);
            run -= RUN_MAX + 1;
        }
        let run = run as u8;
        let Some((&byte, behind)) = rest.split_first() else {
            out.push(RUN_AND_END + 2 * run);
            return;
        };
        let is_lower = byte < LOWEST;
        out.push(if is_lower { RUN_AND_LOWER + 2 * run } else { RUN_AND_HIGHER - run });
        out.push(byte);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn counted(level: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_counted(level, &mut out);
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
                    let lowest = std::iter::repeat_n(LOWEST, run);
                    lowest.chain((byte != LOWEST).then_some(byte))
                });
                runs.chain(std::iter::repeat_n(LOWEST, ends[at])).collect::<Vec<u8>>()
            };
            let (a, b) = (level(0), level(1));
            prop_assert_eq!(counted(&a).cmp(&counted(&b)), a.cmp(&b));
            // None is the beginning of another one.
            prop_assert!(a == b || !counted(&b).starts_with(&counted(&a)));
        }
    }
}
