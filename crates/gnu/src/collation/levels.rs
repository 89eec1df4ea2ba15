//! Whole keys: the weights of all levels, in the order in which `strcoll` compares them.
//!
//! ```text
//! text, up to its end or a NUL: the weights of each level, and a 0 behind them
//!     a level with positions: for each element that isn't ignored there
//!         1 + how many before it are ignored, its weights, a 0
//! 2 at the end, 3 if text follows; without elements 0 and 1
//! ```
//!
//! A weight below 2 would be written as two bytes, 1 and the weight plus 1; no locale has any.

use super::rows::{BACKWARD, COUNT, SLOW};
use super::rules::{Elements, Place, Rules};
use crate::c_text::after_nul;

impl Rules {
    /// Appends the key of `text`; at least its first `limit` bytes. `places` is work memory.
    pub(super) fn encode(
        &self,
        text: &[u8],
        limit: usize,
        places: &mut Vec<Place>,
        out: &mut Vec<u8>,
    ) {
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

    /// Appends the first level, and finds the places of all elements. False if that was enough.
    fn encode_first(
        &self,
        text: &[u8],
        end: usize,
        places: &mut Vec<Place>,
        out: &mut Vec<u8>,
    ) -> bool {
        places.clear();
        let mut elements = Elements::new(self, text);
        while let Some((place, entry)) = elements.next() {
            places.push(place);
            self.push_weights(place, 0, entry, out);
            if out.len() >= end {
                return false;
            }
        }
        out.push(0);
        out.len() < end
    }

    /// Finds the places of all elements of a text up to its first NUL.
    pub(super) fn places(&self, text: &[u8], places: &mut Vec<Place>) {
        places.clear();
        let mut elements = Elements::new(self, text);
        while let Some((place, _)) = elements.next() {
            places.push(place);
        }
    }

    /// Appends another level than the first.
    pub(super) fn encode_level(&self, level: usize, places: &[Place], out: &mut Vec<u8>) {
        let has_positions = self.tables.has_positions(level);
        if self.tables.has_backward(level) {
            let mut turns = Turns::new(self, level, places);
            while let Some((ignored, place, entry)) = turns.next() {
                self.encode_weights(level, has_positions.then_some(ignored), place, entry, out);
            }
        } else {
            let mut ignored = 0;
            for &place in places {
                let entry = self.entry(place, level);
                if is_ignored(entry) {
                    ignored += 1;
                } else {
                    self.encode_weights(level, has_positions.then_some(ignored), place, entry, out);
                    ignored = 0;
                }
            }
        }
        out.push(0);
    }

    #[inline]
    fn encode_weights(
        &self,
        level: usize,
        ignored: Option<usize>,
        place: Place,
        entry: u32,
        out: &mut Vec<u8>,
    ) {
        let Some(ignored) = ignored else { return self.push_weights(place, level, entry, out) };
        push_count(ignored + 1, out);
        self.push_weights(place, level, entry, out);
        out.push(0);
    }
}

/// Elements without weights are; those with many, or with strange ones, have some.
#[inline]
fn is_ignored(entry: u32) -> bool {
    entry & (COUNT | SLOW) == 0
}

/// Appends a number from 1 on: a larger one is larger as bytes.
#[inline]
fn push_count(count: usize, out: &mut Vec<u8>) {
    const BYTES_FROM: usize = 0xF0;
    if count < BYTES_FROM {
        out.push(count as u8);
    } else {
        let bytes = (count as u64).to_be_bytes();
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        out.push((BYTES_FROM + bytes.len() - zeros) as u8);
        out.extend_from_slice(&bytes[zeros..]);
    }
}

/// The order in which `strcoll` visits elements on a level on which some count from the back.
///
/// Elements that follow each other and count from the back are visited from the last to the first,
/// once one comes that doesn't, or the text ends. In the first case glibc leaves out the last but
/// one of them, and where ignored elements were visited just before, it counts them among those:
/// so does this. (`strxfrm` does it right, and contradicts `strcoll`. Digits and signs count from
/// the back on the second level of most locales.)
struct Turns<'a> {
    rules: &'a Rules,
    level: usize,
    places: &'a [Place],
    /// The next element to read.
    at: usize,
    /// Where reading went on when an element was last given back.
    before: usize,
    /// How many elements are to be visited back to, where that is going on.
    stop: Option<usize>,
    back: usize,
    /// Where the elements begin that are visited backwards.
    back_from: usize,
    /// Elements read that count from the back, and elements read.
    pushed: usize,
    read: usize,
    current: Place,
    /// The element that comes after those that are visited backwards.
    after: Place,
}

impl<'a> Turns<'a> {
    fn new(rules: &'a Rules, level: usize, places: &'a [Place]) -> Self {
        Self {
            rules,
            level,
            places,
            at: 0,
            before: 0,
            stop: None,
            back: 0,
            back_from: 0,
            pushed: 0,
            read: 0,
            current: 0,
            after: 0,
        }
    }

    /// The next element that isn't ignored, with its entry, and how many before it are.
    fn next(&mut self) -> Option<(usize, Place, u32)> {
        for ignored in 0.. {
            let place = match self.stop {
                None => self.forward()?,
                Some(stop) => self.backward(stop)?,
            };
            let entry = self.rules.entry(place, self.level);
            if !is_ignored(entry) {
                self.before = self.at;
                return Some((ignored, place, entry));
            }
        }
        None
    }

    fn backward(&mut self, stop: usize) -> Option<Place> {
        if self.back > stop {
            let place = self.places[self.back_from + self.back - stop - 1];
            self.back -= 1;
            return Some(place);
        }
        if self.pushed == self.read {
            return None;
        }
        self.stop = None;
        Some(self.after)
    }

    fn forward(&mut self) -> Option<Place> {
        let start = self.read;
        let mut previous = self.current;
        while let Some(&place) = self.places.get(self.at) {
            self.at += 1;
            previous = std::mem::replace(&mut self.current, place);
            self.pushed = self.read;
            self.read += 1;
            if self.rules.entry(place, self.level) & BACKWARD == 0 {
                break;
            }
            self.pushed += 1;
        }
        if self.pushed <= start {
            let has_one = self.pushed == start && self.read > start;
            return has_one.then_some(self.current);
        }
        self.stop = Some(start);
        self.back_from = self.before;
        self.before = self.at;
        self.back = self.pushed;
        let mut place = self.current;
        if self.read > self.pushed {
            self.back -= 1;
            self.after = self.current;
            place = previous;
        }
        if self.back > start {
            self.back -= 1;
        }
        Some(place)
    }
}
