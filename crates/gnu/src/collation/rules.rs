//! The rules of a language, ready: text as elements, and their first weights, which nearly always
//! decide.
//!
//! `strcoll` compares two texts by the weights of the first level, all that follow each other; if
//! they are equal by those of the second, and so on. So the weights of all levels, with a 0 behind
//! each level, are a key.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::rows::{CHAIN, COUNT, LONG, PLAIN_MIN, Row, SLOW, TWO_BYTES, entry};
use super::tables::Tables;

/// In a [`Place`]: the element has an entry.
const HAS_ENTRY: u32 = 1 << 31;
/// Every byte of an entry that holds weights.
const WEIGHTS: u32 = 0xFFFF_FF00;

/// Where an element's weights are: the bytes of its entry (the lead, or 0 for the first row, and
/// the byte in the row), or the element itself.
pub(super) type Place = u32;

/// The rules of a language.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) tables: Tables,
    first: Row,
    /// Made where text has the lead.
    leads: Box<[OnceLock<Box<Row>>; 256]>,
}

impl Rules {
    pub(super) fn new(tables: Tables) -> Self {
        let first = Row::of_first_bytes(&tables);
        Self { tables, first, leads: Box::new([const { OnceLock::new() }; 256]) }
    }

    #[inline]
    fn row(&self, lead: u8) -> &Row {
        if lead == 0 {
            return &self.first;
        }
        self.leads[usize::from(lead)].get_or_init(|| {
            let chain = self.tables.first(lead).expect_err("it is a lead");
            Box::new(Row::of_lead(&self.tables, chain))
        })
    }

    /// The entry of a place on a level.
    #[inline]
    pub(super) fn entry(&self, place: Place, level: usize) -> u32 {
        if place & HAS_ENTRY == 0 {
            return entry(&self.tables, place, level);
        }
        self.row((place >> 8) as u8).level(level)[usize::from(place as u8)]
    }

    /// All weights of a place on a level.
    pub(super) fn weights(&self, place: Place, level: usize) -> &[u8] {
        let element = match place & HAS_ENTRY {
            0 => place,
            _ => self.row((place >> 8) as u8).element(place as u8),
        };
        self.tables.weights(element, level)
    }

    /// Compares two texts up to their first NULs by the first level alone.
    #[inline]
    pub(super) fn compare_first(&self, a: &[u8], b: &[u8]) -> Ordering {
        let from = self.shared(a, b);
        let (mut a, mut b) = (FirstWords::new(self, &a[from..]), FirstWords::new(self, &b[from..]));
        loop {
            let (word_a, word_b) = (a.next(), b.next());
            if word_a != word_b {
                return word_a.cmp(&word_b);
            }
            if word_a as u8 == 0 {
                return Ordering::Equal;
            }
        }
    }

    /// How many bytes at the heads of two texts are the same elements, or fewer.
    #[inline]
    fn shared(&self, a: &[u8], b: &[u8]) -> usize {
        let mut shared = 0;
        for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
            let [a, b] = [a, b].map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight")));
            if a != b {
                shared += (a ^ b).trailing_zeros() as usize / 8;
                break;
            }
            shared += 8;
        }
        if shared == 0 { 0 } else { self.element_end(&a[..shared]) }
    }

    /// The last place in a text, or an earlier one, at which an element ends whatever follows.
    fn element_end(&self, text: &[u8]) -> usize {
        const TRIES: usize = 64;
        // No element that begins before `end` is known to go beyond it.
        let mut end = text.len();
        let longest = usize::from(self.tables.longest_of_all);
        let mut at = end;
        for _ in 0..TRIES {
            if at == 0 || end - at >= longest {
                return end;
            }
            at -= 1;
            if usize::from(self.tables.longest[usize::from(text[at])]) > end - at {
                end = at;
            }
        }
        0
    }
}

/// The elements of a text, up to its first NUL.
pub(super) struct Elements<'a> {
    rules: &'a Rules,
    first: &'a [u32; 256],
    text: &'a [u8],
    at: usize,
}

impl<'a> Elements<'a> {
    #[inline]
    pub(super) fn new(rules: &'a Rules, text: &'a [u8]) -> Self {
        Self { rules, first: rules.first.level(0), text, at: 0 }
    }

    /// The next element, and its entry on the first level.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Place, u32)> {
        let byte = *self.text.get(self.at)?;
        let entry = self.first[usize::from(byte)];
        if entry & CHAIN == 0 {
            self.at += 1;
            return Some((HAS_ENTRY | u32::from(byte), entry));
        }
        if byte == 0 {
            return None;
        }
        let second = self.text.get(self.at + 1).copied().unwrap_or(0);
        let entry = self.rules.row(byte).level(0)[usize::from(second)];
        if entry & CHAIN == 0 {
            self.at += if entry & TWO_BYTES == 0 { 1 } else { 2 };
            return Some((HAS_ENTRY | u32::from(byte) << 8 | u32::from(second), entry));
        }
        Some(self.by_chain(entry >> 8))
    }

    fn by_chain(&mut self, link: u32) -> (Place, u32) {
        let (element, more) = self.rules.tables.find(link as usize, &self.text[self.at + 1..]);
        self.at += 1 + more;
        let place = element & !HAS_ENTRY;
        (place, entry(&self.rules.tables, place, 0))
    }
}

/// The weights of a text's first level, eight by eight.
pub(super) struct FirstWords<'a> {
    elements: Elements<'a>,
    /// Weights that don't fit an entry, and are still to come.
    rest: &'a [u8],
    /// Weights that are still to come, from the upper end on, and how many.
    ready: u128,
    count: u32,
}

impl<'a> FirstWords<'a> {
    #[inline]
    pub(super) fn new(rules: &'a Rules, text: &'a [u8]) -> Self {
        Self { elements: Elements::new(rules, text), rest: &[], ready: 0, count: 0 }
    }

    /// The next eight weights, with zeros past the end.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        while self.count < 8 {
            let entry = if self.rest.is_empty() {
                let Some((place, entry)) = self.elements.next() else { break };
                if entry & SLOW != 0 {
                    self.rest = self.elements.rules.weights(place, 0);
                    continue;
                }
                entry
            } else {
                self.rest_entry()
            };
            self.ready |= u128::from(entry & WEIGHTS) << 96 >> (8 * self.count);
            self.count += entry & COUNT;
        }
        let word = (self.ready >> 64) as u64;
        self.ready <<= 64;
        self.count = self.count.saturating_sub(8);
        word
    }

    #[cold]
    fn rest_entry(&mut self) -> u32 {
        let (&weight, rest) = self.rest.split_first().expect("it isn't empty");
        self.rest = rest;
        escaped(weight)
    }
}

/// A weight as it is in keys, as an entry.
pub(super) fn escaped(weight: u8) -> u32 {
    match weight {
        0..PLAIN_MIN => 1 << 24 | u32::from(weight + 1) << 16 | 2,
        _ => u32::from(weight) << 24 | 1,
    }
}

/// Appends the weights of an entry.
#[inline]
pub(super) fn push(entry: u32, out: &mut Vec<u8>) {
    let bytes = out.len() + (entry & COUNT) as usize;
    // Four bytes are stored at once; fewer take longer.
    out.extend_from_slice(&entry.to_be_bytes());
    out.truncate(bytes);
}

impl Rules {
    /// Appends the weights of a place on a level, whose entry is known.
    #[inline]
    pub(super) fn push_weights(&self, place: Place, level: usize, entry: u32, out: &mut Vec<u8>) {
        if entry & SLOW == 0 {
            push(entry, out);
        } else {
            debug_assert!(entry & LONG != 0, "only an element has a place");
            self.weights(place, level).iter().for_each(|&weight| push(escaped(weight), out));
        }
    }
}
