//! Elements of one and two bytes, looked up at once.
//!
//! A row has an entry for each byte: of the first row, what the text's byte is; of a *lead*'s row,
//! what the lead and the byte that follows it are. A byte is a lead if elements of several bytes
//! begin with it: the letter l is one (for Catalan), and so are the first bytes of characters in
//! UTF-8.
//!
//! An entry is a number of 32 bits: up to three weights from the upper end on, and in the lowest
//! byte how many there are, and flags. If the bytes don't tell the element, the upper end has the
//! offset of the first link of the chain that can match; in the first row, the byte is a lead.

use std::ops::{Range, RangeInclusive};

use super::tables::Tables;

/// How many weights.
pub(super) const COUNT: u32 = 3;
/// The element has two bytes.
pub(super) const TWO_BYTES: u32 = 4;
/// The element is counted from the back.
pub(super) const BACKWARD: u32 = 8;
/// The weights are in the tables: there are more than three, or strange ones.
pub(super) const LONG: u32 = 16;
/// The element is to be found by the chain.
pub(super) const CHAIN: u32 = 32;
/// The entry hasn't got the weights.
pub(super) const SLOW: u32 = LONG | CHAIN;

/// The bytes that stand for themselves in a key, wherever they are.
pub(super) const PLAIN: Range<u8> = 2..0xFE;

/// The entries of each level.
#[derive(Debug)]
pub(super) struct Row {
    /// What the entries are of; 0 where that is to be found by the chain.
    elements: [u32; 256],
    levels: Box<[[u32; 256]]>,
}

impl Row {
    /// What single bytes are.
    pub(super) fn of_first_bytes(tables: &Tables) -> Self {
        let mut row = Self::new(tables);
        row.fill(0..=u8::MAX, CHAIN);
        for byte in 1..=u8::MAX {
            if let Ok(element) = tables.first(byte) {
                row.set(tables, byte, element, 0);
            }
        }
        row
    }

    /// What bytes are that follow a lead whose chain begins there. A 0 is the text's end.
    pub(super) fn of_lead(tables: &Tables, chain: usize) -> Self {
        let mut row = Self::new(tables);
        let mut is_known = [false; 256];
        let mut at = chain;
        while let Some(link) = tables.link(at) {
            let (Some(&low), Some(&high)) = (link.low.first(), link.high.first()) else {
                // The last link: the lead alone.
                row.set(tables, 0, tables.matched(&link, &[]).unwrap_or(0), 0);
                break;
            };
            for byte in low.max(1)..=high {
                if std::mem::replace(&mut is_known[usize::from(byte)], true) {
                    continue;
                }
                match link.low.len() {
                    1 => {
                        let element = tables.matched(&link, &[byte]).unwrap_or(0);
                        row.set(tables, byte, element, TWO_BYTES);
                    }
                    _ => row.fill(byte..=byte, (at as u32) << 8 | CHAIN),
                }
            }
            at = link.next;
        }
        let unknown = (1..=u8::MAX).filter(|&byte| !is_known[usize::from(byte)]);
        unknown.for_each(|byte| row.copy(0, byte));
        row
    }

    fn new(tables: &Tables) -> Self {
        Self { elements: [0; 256], levels: vec![[0; 256]; tables.levels].into_boxed_slice() }
    }

    fn set(&mut self, tables: &Tables, byte: u8, element: u32, flags: u32) {
        self.elements[usize::from(byte)] = element;
        for (level, entries) in self.levels.iter_mut().enumerate() {
            entries[usize::from(byte)] = entry(tables, element, level) | flags;
        }
    }

    fn copy(&mut self, from: u8, to: u8) {
        self.elements[usize::from(to)] = self.elements[usize::from(from)];
        for entries in &mut self.levels {
            entries[usize::from(to)] = entries[usize::from(from)];
        }
    }

    fn fill(&mut self, bytes: RangeInclusive<u8>, entry: u32) {
        for entries in &mut self.levels {
            entries[usize::from(*bytes.start())..=usize::from(*bytes.end())].fill(entry);
        }
    }

    /// The element of a byte.
    pub(super) fn element(&self, byte: u8) -> u32 {
        self.elements[usize::from(byte)]
    }

    /// The entries of a level.
    #[inline]
    pub(super) fn level(&self, level: usize) -> &[u32; 256] {
        &self.levels[level]
    }
}

/// What an entry says of an element whose bytes are known.
pub(super) fn entry(tables: &Tables, element: u32, level: usize) -> u32 {
    let weights = tables.weights(element, level);
    let backward = if tables.is_backward(element, level) { BACKWARD } else { 0 };
    if weights.len() > 3 || weights.iter().any(|weight| !PLAIN.contains(weight)) {
        return LONG | backward;
    }
    let place = |word, (at, &weight): (u32, &u8)| word | u32::from(weight) << (24 - 8 * at);
    (0..).zip(weights).fold(weights.len() as u32 | backward, place)
}
