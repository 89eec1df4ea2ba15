//! The rules of a language in a form ready to use: text as elements, and their first weights, which
//! nearly always decide.
//!
//! `strcoll` compares two texts by all their weights of the first level in sequence; if these are
//! equal, by those of the second, and so on. So the weights of all levels, with a 0 after each
//! level, are a key.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::rows;
use super::rows::{CHAIN, COUNT, Row, SLOW, TWO_BYTES};
use super::tables::Tables;
use crate::shared_bytes::shared_bytes;

/// In a [`Place`]: the element has an entry.
const HAS_ENTRY: u32 = 1 << 31;
/// Every byte of an entry that holds weights.
pub(super) const WEIGHTS: u32 = 0xFFFF_FF00;

/// The place of an element's weights: the bytes of its entry (the lead, or 0 for the first row, and
/// the byte in the row), or the element itself.
pub(super) type Place = u32;

/// The rules of a language.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) tables: Tables,
    first: Row,
    /// Rows of leads, each built when a text has the lead.
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

    #[inline(never)]
    pub(super) fn entry(&self, place: Place, level: usize) -> u32 {
        if place & HAS_ENTRY == 0 {
            return rows::entry(&self.tables, place, level);
        }
        self.row((place >> 8) as u8).level(level)[usize::from(place as u8)]
    }

    /// The first element of a text that begins with a lead: its place, its entry on the first
    /// level, and its length in bytes. `None` at a NUL.
    #[inline(never)]
    fn led(&self, text: &[u8]) -> Option<(Place, u32, usize)> {
        let (&lead, rest) = text.split_first().filter(|&(&lead, _)| lead != 0)?;
        let second = rest.first().copied().unwrap_or(0);
        let entry = self.row(lead).level(0)[usize::from(second)];
        if entry & CHAIN == 0 {
            let place = HAS_ENTRY | u32::from(lead) << 8 | u32::from(second);
            return Some((place, entry, if entry & TWO_BYTES == 0 { 1 } else { 2 }));
        }
        let (element, more) = self.tables.find((entry >> 8) as usize, rest);
        let place = element & !HAS_ENTRY;
        Some((place, rows::entry(&self.tables, place, 0), 1 + more))
    }

    /// The entries of single bytes on a level.
    pub(super) fn first_entries(&self, level: usize) -> &[u32; 256] {
        self.first.level(level)
    }

    /// The entry of a place on a level. `first` has the entries of single bytes on that level.
    #[inline(always)]
    pub(super) fn entry_of(&self, first: &[u32; 256], place: Place, level: usize) -> u32 {
        match place ^ HAS_ENTRY {
            byte @ 0..256 => first[byte as usize],
            _ => self.entry(place, level),
        }
    }

    /// All weights of a place on a level.
    pub(super) fn weights(&self, place: Place, level: usize) -> &[u8] {
        self.tables.weights(self.element(place), level)
    }

    /// The element of a place.
    pub(super) fn element(&self, place: Place) -> u32 {
        match place & HAS_ENTRY {
            0 => place,
            _ => self.row((place >> 8) as u8).element(place as u8),
        }
    }

    /// The element of a lead followed by another byte, if two bytes determine it.
    pub(super) fn element_of_lead(&self, lead: u8, next: u8) -> u32 {
        self.row(lead).element(next)
    }

    /// The place of a byte that isn't a lead.
    pub(super) fn place_of(byte: u8) -> Place {
        HAS_ENTRY | u32::from(byte)
    }

    /// Compares two texts up to their first NULs by the first level only.
    #[inline]
    pub(super) fn compare_first(&self, a: &[u8], b: &[u8]) -> Ordering {
        let from = self.shared(a, b);
        let (a, b) = (&a[from..], &b[from..]);
        // Nearly always an element in the same position decides.
        let (mut elements_a, mut elements_b) = (Elements::new(self, a), Elements::new(self, b));
        loop {
            let entries = (elements_a.next_counting(), elements_b.next_counting());
            let (Some(entry_a), Some(entry_b)) = entries else {
                return entries.0.is_some().cmp(&entries.1.is_some());
            };
            if entry_a & (WEIGHTS | COUNT) == entry_b & (WEIGHTS | COUNT)
                && (entry_a | entry_b) & SLOW == 0
            {
                continue;
            }
            let count = (entry_a & COUNT).min(entry_b & COUNT);
            let mask = !(u32::MAX >> (8 * count));
            if (entry_a ^ entry_b) & mask == 0 {
                // One has more weights, or they are not in the entries.
                return self.compare_first_words(a, b);
            }
            return (entry_a & mask).cmp(&(entry_b & mask));
        }
    }

    /// Compares two texts by the first level only, with any elements.
    fn compare_first_words(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (mut a, mut b) = (FirstWords::new(self, a), FirstWords::new(self, b));
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

    /// A length of the texts' common prefix that ends with an element in both.
    #[inline]
    fn shared(&self, a: &[u8], b: &[u8]) -> usize {
        let shared = shared_bytes(a, b);
        if shared == 0 { 0 } else { self.element_end(&a[..shared]) }
    }

    /// The last position in a text, or an earlier one, at which an element ends whatever follows.
    fn element_end(&self, text: &[u8]) -> usize {
        const TRIES: usize = 64;
        // No element that begins before `end` is known to extend beyond it.
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

/// Iterates over the elements of a text, up to its first NUL.
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
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Place, u32)> {
        let byte = *self.text.get(self.at)?;
        let entry = self.first[usize::from(byte)];
        if entry & CHAIN == 0 {
            self.at += 1;
            return Some((Rules::place_of(byte), entry));
        }
        let (place, entry, bytes) = self.rules.led(&self.text[self.at..])?;
        self.at += bytes;
        Some((place, entry))
    }

    /// The entry of the next element that isn't ignored on the first level.
    #[inline(always)]
    fn next_counting(&mut self) -> Option<u32> {
        loop {
            let (_, entry) = self.next()?;
            if entry & (COUNT | SLOW) != 0 {
                return Some(entry);
            }
        }
    }
}

/// The weights of a text's first level, eight at a time.
pub(super) struct FirstWords<'a> {
    elements: Elements<'a>,
    /// Pending weights that don't fit an entry.
    rest: &'a [u8],
    /// Pending weights from the high end on, and their number.
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

/// A weight in its key encoding, in the form of an entry.
pub(super) fn escaped(weight: u8) -> u32 {
    match weight {
        0..=1 => 1 << 24 | u32::from(weight + 1) << 16 | 2,
        _ => u32::from(weight) << 24 | 1,
    }
}
