//! Tables to look up elements of one and two bytes.
//!
//! A row has an entry for each byte. In the first row an entry describes that byte of the text; in
//! a *lead*'s row, the lead and the byte that follows it. A byte is a lead if elements of several
//! bytes begin with it: the letter l (for Catalan), and the first bytes of characters in UTF-8.
//!
//! An entry is a 32-bit number: up to three weights from the high end on, and their number and
//! flags in the lowest byte. If the bytes don't determine the element, the high bits hold the
//! offset of the first link of the chain that can match; in the first row, the byte is a lead.

use std::ops::{Range, RangeInclusive};

use super::tables::Tables;

/// The number of weights.
pub(super) const COUNT: u32 = 3;
/// The element has two bytes.
pub(super) const TWO_BYTES: u32 = 4;
/// The element counts from the back.
pub(super) const BACKWARD: u32 = 8;
/// The weights are in the tables: there are more than three, or unusual ones.
pub(super) const LONG: u32 = 16;
/// The element must be found by the chain.
pub(super) const CHAIN: u32 = 32;
/// The entry doesn't hold the weights.
pub(super) const SLOW: u32 = LONG | CHAIN;

/// The bytes that stand for themselves anywhere in a key.
pub(super) const PLAIN: Range<u8> = 2..0xFE;

/// The entries of each level.
#[derive(Debug)]
pub(super) struct Row {
    /// The elements of the entries; 0 where the chain must be searched.
    elements: [u32; 256],
    levels: Box<[[u32; 256]]>,
}

impl Row {
    /// The row of single bytes.
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

    /// The row of bytes that follow a lead, whose chain begins at `chain`. A 0 is the text's end.
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

/// The entry of an element whose bytes are known.
pub(super) fn entry(tables: &Tables, element: u32, level: usize) -> u32 {
    let weights = tables.weights(element, level);
    let backward = if tables.is_backward(element, level) { BACKWARD } else { 0 };
    if weights.len() > 3 || weights.iter().any(|weight| !PLAIN.contains(weight)) {
        return LONG | backward;
    }
    let place = |word, (at, &weight): (u32, &u8)| word | u32::from(weight) << (24 - 8 * at);
    (0..).zip(weights).fold(weights.len() as u32 | backward, place)
}
