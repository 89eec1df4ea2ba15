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

/// The least byte that stands for itself in a key.
pub(super) const PLAIN_MIN: u8 = 2;

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
        Self::new(tables, |byte| match byte {
            0 => Err(0),
            _ => tables.first(byte).map(|element| (element, 0)).or(Err(0)),
        })
    }

    /// What bytes are that follow a lead whose chain begins there. A 0 is the text's end.
    pub(super) fn of_lead(tables: &Tables, chain: usize) -> Self {
        Self::new(tables, |byte| {
            let mut at = chain;
            while let Some(link) = tables.link(at) {
                if link.low.len() < 2 {
                    if let Some(element) = tables.matched(&link, &[byte]) {
                        return Ok((element, if link.low.is_empty() { 0 } else { TWO_BYTES }));
                    }
                } else if link.low[0] <= byte && byte <= link.high[0] {
                    break;
                }
                at = link.next;
            }
            Err(at)
        })
    }

    /// `of` gives a byte's element and flags, or the offset of a link.
    fn new(tables: &Tables, of: impl Fn(u8) -> Result<(u32, u32), usize>) -> Self {
        let mut elements = [0; 256];
        let mut levels = vec![[0; 256]; tables.levels].into_boxed_slice();
        for byte in 0..=u8::MAX {
            let found = of(byte);
            for (level, entries) in levels.iter_mut().enumerate() {
                entries[usize::from(byte)] = match found {
                    Ok((element, flags)) => entry(tables, element, level) | flags,
                    Err(link) => (link as u32) << 8 | CHAIN,
                };
            }
            elements[usize::from(byte)] = found.map_or(0, |(element, _)| element);
        }
        Self { elements, levels }
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
    if weights.len() > 3 || weights.iter().any(|&weight| weight < PLAIN_MIN) {
        return LONG | backward;
    }
    let place = |word, (at, &weight): (u32, &u8)| word | u32::from(weight) << (24 - 8 * at);
    (0..).zip(weights).fold(weights.len() as u32 | backward, place)
}
