//! Whole keys: the weights of all levels, in the order in which `strcoll` compares them.
//!
//! ```text
//! text, up to its end or a NUL: the weights of each level, and a 0 after them
//!     a level with positions: for each element that isn't ignored there, a 1 and its weights;
//!     between the two, if ignored ones precede it, FF and how many;
//!     or, if its first weight is FE or FF, FE
//! 2 at the end, 3 if text follows; without elements 0 and 1
//! ```
//!
//! A weight below 2 would be written as two bytes, 1 and the weight plus 1. No locale has any.

use super::rows::{BACKWARD, COUNT, PLAIN, SLOW};
use super::rules::{Elements, Place, Rules, escaped};
use crate::c_text::after_nul;

impl Rules {
    /// Appends the key of `text`, at least its first `limit` bytes. `places` is work memory.
    pub(super) fn encode(&self, text: &[u8], limit: usize, places: &mut Places, out: &mut Vec<u8>) {
        let end = out.len().saturating_add(limit);
        let mut rest = Some(text);
        while let Some(text) = rest {
            if !self.encode_first(text, end, places, out) {
                return;
            }
            for level in 1..self.tables.levels {
                self.encode_level(level, places, out);
                if out.len() >= end {
                    return;
                }
            }
            rest = after_nul(text);
            let has_elements = if places.is_empty() { 0 } else { 2 };
            out.push(has_elements + u8::from(rest.is_some()));
        }
    }

    /// Appends the first level, and finds the places of all elements. Returns false if the key has
    /// reached length `end`.
    pub(super) fn encode_first(
        &self,
        text: &[u8],
        end: usize,
        places: &mut Places,
        out: &mut Vec<u8>,
    ) -> bool {
        places.all.clear();
        let mut elements = Elements::new(self, text);
        let mut writer = Writer::new(out);
        while let Some((place, entry)) = elements.next() {
            places.all.push(place);
            if entry & SLOW == 0 {
                writer.push_weights(entry);
            } else {
                writer.rarely(|writer| writer.push_all(self.weights(place, 0)));
            }
            if writer.at >= end {
                break;
            }
        }
        if writer.at < end {
            writer.push_byte(0);
        }
        writer.finish();
        out.len() < end
    }

    /// Finds the places of all elements of a text up to its first NUL.
    pub(super) fn places(&self, text: &[u8], places: &mut Places) {
        places.all.clear();
        let mut elements = Elements::new(self, text);
        while let Some((place, _)) = elements.next() {
            places.all.push(place);
        }
    }

    /// Appends a level other than the first.
    pub(super) fn encode_level(&self, level: usize, work: &mut Places, out: &mut Vec<u8>) {
        let places = self.in_turn(level, work);
        let first = self.first_entries(level);
        let mut writer = Writer::new(out);
        if self.tables.has_positions(level) {
            let mut ignored = 0;
            for &place in places {
                let entry = self.entry_of(first, place, level);
                if is_ignored(entry) {
                    ignored += 1;
                } else if ignored == 0 && entry & SLOW == 0 {
                    writer.push(NEXT, entry);
                } else {
                    writer.rarely(|writer| self.push_distant(level, ignored, place, entry, writer));
                    ignored = 0;
                }
            }
        } else {
            for &place in places {
                let entry = self.entry_of(first, place, level);
                if entry & SLOW == 0 {
                    writer.push_weights(entry);
                } else {
                    writer.rarely(|writer| writer.push_all(self.weights(place, level)));
                }
            }
        }
        writer.push_byte(0);
        writer.finish();
    }

    /// Writes an element that follows ignored ones, or whose weights aren't in its entry.
    fn push_distant(
        &self,
        level: usize,
        ignored: usize,
        place: Place,
        entry: u32,
        writer: &mut Writer<'_>,
    ) {
        writer.push_byte(NEXT);
        if ignored > 0 {
            writer.push_byte(DISTANT);
            writer.push_count(ignored);
        }
        if entry & SLOW == 0 {
            return writer.push_weights(entry);
        }
        let weights = self.weights(place, level);
        if ignored == 0 && weights[0] >= HIGH {
            writer.push_byte(HIGH);
        }
        writer.push_all(weights);
    }

    /// Returns the elements in the order in which `strcoll` visits them on a level.
    ///
    /// Consecutive elements that count from the back are visited from the last to the first, once
    /// an element follows that doesn't, or the text ends. In the first case glibc omits the last
    /// but one of them, and if ignored elements were visited just before, it counts them among
    /// those. This function does the same. (`strxfrm` does it right, and contradicts `strcoll`.
    /// Digits and punctuation count from the back on the second level of most locales.)
    fn in_turn<'a>(&self, level: usize, work: &'a mut Places) -> &'a [Place] {
        let Places { all, in_turn } = work;
        if !self.tables.has_backward(level) {
            return all;
        }
        let first = self.first_entries(level);
        let entry = |place: Place| self.entry_of(first, place, level);
        let is_backward = |place: &&Place| entry(**place) & BACKWARD != 0;
        in_turn.clear();
        // The index after the last visited element that wasn't ignored.
        let mut behind = 0;
        let mut at = 0;
        while let Some(&place) = all.get(at) {
            let count = all[at..].iter().take_while(is_backward).count();
            if count == 0 {
                at += 1;
                in_turn.push(place);
            } else {
                let end = at + count;
                let next = all.get(end);
                at = end + usize::from(next.is_some());
                let from = std::mem::replace(&mut behind, at);
                let before = count - 1 - usize::from(next.is_some() && count > 1);
                in_turn.push(all[end - 1]);
                in_turn.extend(all[from..from + before].iter().rev());
                in_turn.extend(next);
                continue;
            }
            if !is_ignored(entry(place)) {
                behind = at;
            }
        }
        in_turn
    }
}

/// The places of all elements of a text.
#[derive(Debug, Default)]
pub(super) struct Places {
    all: Vec<Place>,
    /// The places in the order of a level.
    in_turn: Vec<Place>,
}

impl Places {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    pub(super) fn push(&mut self, place: Place) {
        self.all.push(place);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Place> {
        self.all.iter().copied()
    }
}

/// On a level with positions: another element follows.
const NEXT: u8 = 1;
/// After [`NEXT`]: a weight of at least this follows, without ignored elements.
const HIGH: u8 = PLAIN.end;
/// After [`NEXT`]: the count of ignored elements follows.
const DISTANT: u8 = 0xFF;

/// True for elements without weights. Elements with many or unusual weights aren't ignored.
#[inline]
fn is_ignored(entry: u32) -> bool {
    entry & (COUNT | SLOW) == 0
}

#[cold]
#[inline(never)]
fn grow(out: &mut Vec<u8>) {
    out.resize(out.len() + 512, 0);
}

/// Writes bytes without checking the vector's length for each.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// The end of the written bytes. The rest of `out` is room.
    at: usize,
}

impl<'a> Writer<'a> {
    /// Appends to the bytes in `out`.
    #[inline(always)]
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { at: out.len(), out }
    }

    /// Writes the first `count` of four bytes.
    #[inline(always)]
    fn push_of_four(&mut self, bytes: [u8; 4], count: usize) {
        if self.out.len() < self.at + 4 {
            grow(self.out);
        }
        if let Some(place) = self.out.get_mut(self.at..self.at + 4) {
            place.copy_from_slice(&bytes);
        }
        self.at += count;
    }

    /// Runs a rare case on a copy of the writer. Its fields are in memory; those of the original
    /// can stay in registers.
    #[inline(always)]
    fn rarely(&mut self, write: impl FnOnce(&mut Writer<'_>)) {
        let mut copy = Writer { out: self.out, at: self.at };
        write(&mut copy);
        self.at = copy.at;
    }

    /// Writes a byte and the weights of an entry.
    #[inline(always)]
    fn push(&mut self, first: u8, entry: u32) {
        let bytes = (u32::from(first) << 24 | entry >> 8).to_be_bytes();
        self.push_of_four(bytes, 1 + (entry & COUNT) as usize);
    }

    #[inline(always)]
    pub(super) fn push_weights(&mut self, entry: u32) {
        self.push_of_four(entry.to_be_bytes(), (entry & COUNT) as usize);
    }

    pub(super) fn push_byte(&mut self, byte: u8) {
        self.push_of_four([byte, 0, 0, 0], 1);
    }

    fn push_all(&mut self, weights: &[u8]) {
        weights.iter().for_each(|&weight| self.push_weights(escaped(weight)));
    }

    /// Writes a number from 1 on. Larger numbers compare higher as bytes.
    fn push_count(&mut self, count: usize) {
        const BYTES_FROM: usize = 0xF0;
        if count < BYTES_FROM {
            return self.push_byte(count as u8);
        }
        let bytes = (count as u64).to_be_bytes();
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        self.push_byte((BYTES_FROM + bytes.len() - zeros) as u8);
        bytes[zeros..].iter().for_each(|&byte| self.push_byte(byte));
    }

    pub(super) fn finish(self) {
        self.out.truncate(self.at);
    }
}
