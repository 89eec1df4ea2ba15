//! The tables by which glibc orders text, read with every offset checked.
//!
//! Text is a sequence of *elements*: a character, or several that count as one. An element has
//! weights on each level: bytes, or none if it is ignored there.
//!
//! | piece | content |
//! |---|---|
//! | `table` | for each first byte an element, or minus the offset in `extra` of a chain |
//! | `extra` | links of chains: bytes that follow, or the first and last of a range; at last none |
//! | `indirect` | the elements of ranges |
//! | `weights` | at an element's offset, for each level: their count, and the weights |
//! | `rule_sets` | for each set of rules a byte for each level |
//!
//! An element is a number: the offset of its weights, and in the upper eight bits its set of rules.
//! `localedef` writes these tables. A table in any other form is refused.

use crate::sys::{CollationPieces, Piece};

/// The element's weights on this level count from the back.
const BACKWARD: u8 = 2;
/// The number of ignored elements before an element counts on this level.
const POSITION: u8 = 4;

/// Most levels that are accepted, more than any locale has.
const LEVELS_MAX: usize = 8;

/// The tables of a locale.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) levels: usize,
    /// For each set of rules, a byte for each level.
    rules: Vec<u8>,
    table: Vec<i32>,
    weights: Piece,
    extra: Piece,
    indirect: Piece,
    /// For each byte, the length of the longest element that begins with it, in bytes.
    pub(super) longest: [u8; 256],
    pub(super) longest_of_all: u8,
}

/// A link of a chain.
pub(super) struct Link<'a> {
    /// The element, or minus the place of the range's elements in `indirect`.
    value: i32,
    /// The bytes after the first one; in a range, the first and the last ones.
    pub(super) low: &'a [u8],
    pub(super) high: &'a [u8],
    /// Offset of the next link.
    pub(super) next: usize,
}

impl Tables {
    /// Checks the tables. `None` if `localedef` doesn't write such tables, or if keys can't compare
    /// texts: `strcoll` lets the first text decide whether positions count.
    pub(super) fn new(pieces: CollationPieces) -> Option<Self> {
        let levels = usize::try_from(pieces.levels).ok().filter(|&levels| levels <= LEVELS_MAX)?;
        let rules: &[u8] = &pieces.rule_sets;
        // Padding follows; a rule is never 0.
        let sets = rules.chunks_exact(levels).take_while(|set| set.iter().any(|&rule| rule != 0));
        let rules: Vec<u8> = sets.flatten().copied().collect();
        let table = pieces.table.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes));
        let mut tables = Self {
            levels,
            rules,
            table: table.take(256).collect(),
            weights: pieces.weights,
            extra: pieces.extra,
            indirect: pieces.indirect,
            longest: [1; 256],
            longest_of_all: 1,
        };
        (tables.has_good_rules() && tables.has_good_chains()).then_some(tables)
    }

    fn has_good_rules(&self) -> bool {
        let Some(first) = self.rules.get(..self.levels) else { return false };
        let agrees = |set: &[u8]| set.iter().zip(first).all(|(a, b)| (a ^ b) & POSITION == 0);
        self.rules.chunks(self.levels).all(|set| agrees(set) && set[0] & BACKWARD == 0)
            && first[0] & POSITION == 0
    }

    /// Walks all chains, and finds the lengths of elements.
    fn has_good_chains(&mut self) -> bool {
        if self.table.len() != 256 {
            return false;
        }
        for byte in 1..256 {
            let value = self.table[byte];
            if value >= 0 {
                if !self.is_element(value) {
                    return false;
                }
                continue;
            }
            let mut longest = 1;
            let mut at = Some(value.unsigned_abs() as usize).filter(|&at| at < 1 << 24);
            while let Some(here) = at {
                let Some(link) = self.link(here).filter(|link| self.is_good(link)) else {
                    return false;
                };
                longest = longest.max(1 + link.low.len());
                at = (!link.low.is_empty()).then_some(link.next);
            }
            let Ok(longest) = u8::try_from(longest) else { return false };
            self.longest[byte] = longest;
            self.longest_of_all = self.longest_of_all.max(longest);
        }
        true
    }

    fn is_good(&self, link: &Link<'_>) -> bool {
        if link.value >= 0 {
            return self.is_element(link.value);
        }
        let first = link.value.unsigned_abs() as usize;
        match (link.low.split_last(), link.high.split_last()) {
            (Some((low, prefix)), Some((high, same))) => {
                let elements = self.indirect.len() / 4;
                prefix == same && low <= high && first + usize::from(high - low) < elements
            }
            _ => false,
        }
    }

    fn is_element(&self, value: i32) -> bool {
        ((value & 0xFF_FFFF) as usize) < self.weights.len()
            && ((value >> 24) as usize) < self.rules.len() / self.levels
    }

    /// The element of a byte if no longer element begins with it, else the offset of its chain as
    /// an error.
    pub(super) fn first(&self, byte: u8) -> Result<u32, usize> {
        let value = self.table[usize::from(byte)];
        u32::try_from(value).map_err(|_| value.unsigned_abs() as usize)
    }

    /// The link at an offset in `extra`.
    pub(super) fn link(&self, at: usize) -> Option<Link<'_>> {
        let (value, rest) = self.extra.get(at..)?.split_first_chunk()?;
        let value = i32::from_ne_bytes(*value);
        let (&count, rest) = rest.split_first()?;
        let count = usize::from(count);
        let low = rest.get(..count)?;
        let (high, bytes) =
            if value < 0 { (rest.get(count..2 * count)?, 2 * count) } else { (low, count) };
        // The next link is aligned to four bytes.
        Some(Link { value, low, high, next: at + 4 + (1 + bytes).next_multiple_of(4) })
    }

    /// The element of a link, if `rest` begins with its bytes.
    pub(super) fn matched(&self, link: &Link<'_>, rest: &[u8]) -> Option<u32> {
        if link.value >= 0 {
            return rest.starts_with(link.low).then_some(link.value as u32);
        }
        let bytes = rest.get(..link.low.len())?;
        if bytes < link.low || bytes > link.high {
            return None;
        }
        let offset = usize::from(bytes.last()? - link.low.last()?);
        let at = 4 * (link.value.unsigned_abs() as usize + offset);
        self.indirect.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
    }

    /// The first element of a chain that matches `rest`, and the number of its bytes in `rest`.
    pub(super) fn find(&self, chain: usize, rest: &[u8]) -> (u32, usize) {
        let mut at = chain;
        while let Some(link) = self.link(at) {
            if let Some(element) = self.matched(&link, rest) {
                return (element, link.low.len());
            }
            at = link.next;
        }
        (0, 0)
    }

    /// An element's weights on a level.
    pub(super) fn weights(&self, element: u32, level: usize) -> &[u8] {
        let mut rest = self.weights.get((element & 0xFF_FFFF) as usize..).unwrap_or_default();
        for _ in 0..level {
            let Some((&count, more)) = rest.split_first() else { break };
            rest = more.get(usize::from(count)..).unwrap_or_default();
        }
        let Some((&count, more)) = rest.split_first() else { return &[] };
        more.get(..usize::from(count)).unwrap_or_default()
    }

    /// True if an element's weights on a level count from the back.
    pub(super) fn is_backward(&self, element: u32, level: usize) -> bool {
        let rule = (element >> 24) as usize * self.levels + level;
        self.rules.get(rule).is_some_and(|rule| rule & BACKWARD != 0)
    }

    /// True if any element's weights on a level count from the back.
    pub(super) fn has_backward(&self, level: usize) -> bool {
        self.rules.iter().skip(level).step_by(self.levels).any(|rule| rule & BACKWARD != 0)
    }

    /// True if the numbers of ignored elements before the others count on a level.
    pub(super) fn has_positions(&self, level: usize) -> bool {
        self.rules[level] & POSITION != 0
    }
}
