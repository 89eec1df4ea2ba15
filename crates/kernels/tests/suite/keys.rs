//! Key rules of the tests: honest ones in all shapes, and one that lies.

use std::cmp::Ordering;
use xsort_records::Key;

/// The bytes `first`, then the bytes `second` of a record (offset, length), some of them
/// descending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) first: (usize, usize),
    pub(crate) second: (usize, usize),
    pub(crate) second_descends: bool,
}

impl Fields {
    /// One field.
    pub(crate) fn plain(offset: usize, bytes: usize) -> Self {
        Fields { first: (offset, bytes), second: (0, 0), second_descends: false }
    }

    fn byte(&self, record: &[u8], at: usize) -> u8 {
        if at < self.first.1 {
            record[self.first.0 + at]
        } else if at < self.bytes() {
            record[self.second.0 + at - self.first.1] ^ if self.second_descends { 0xff } else { 0 }
        } else {
            0
        }
    }
}

impl Key for Fields {
    fn bytes(&self) -> usize {
        self.first.1 + self.second.1
    }

    fn word(&self, record: &[u8], at: usize) -> u64 {
        u64::from_be_bytes(std::array::from_fn(|byte| self.byte(record, at + byte)))
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (0..self.bytes())
            .map(|at| self.byte(a, at))
            .cmp((0..self.bytes()).map(|at| self.byte(b, at)))
    }

    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        assert_eq!(encoded.len(), self.bytes());
        (0..self.bytes()).map(|at| self.byte(record, at)).cmp(encoded.iter().copied())
    }

    fn encode(&self, record: &[u8], out: &mut [u8]) {
        assert_eq!(out.len(), self.bytes());
        for (at, out) in out.iter_mut().enumerate() {
            *out = self.byte(record, at);
        }
    }
}

/// A key whose answers contradict each other: all of them, or as `lie` says a few.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Liar<'a> {
    pub(crate) honest: Fields,
    pub(crate) lie: Lie,
    pub(crate) calls: &'a std::sync::atomic::AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Every word is another number each time.
    Words,
    /// Words are right, comparisons are noise.
    Comparisons,
    /// Now and then a word has bits that it should not have.
    Rarely,
    /// All is noise.
    All,
}

impl Liar<'_> {
    fn noise(&self) -> u64 {
        let call = self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut x = call.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
    }
}

impl Key for Liar<'_> {
    fn bytes(&self) -> usize {
        self.honest.bytes()
    }

    fn word(&self, record: &[u8], at: usize) -> u64 {
        let word = self.honest.word(record, at);
        match self.lie {
            Lie::Comparisons => word,
            Lie::Rarely if !self.noise().is_multiple_of(50) => word,
            _ => self.noise() >> (self.noise() % 64),
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.lie {
            Lie::Words | Lie::Rarely => self.honest.compare(a, b),
            _ => [Ordering::Less, Ordering::Equal, Ordering::Greater][(self.noise() % 3) as usize],
        }
    }

    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        self.honest.compare_encoded(record, encoded)
    }

    fn encode(&self, record: &[u8], out: &mut [u8]) {
        self.honest.encode(record, out);
    }
}

/// Honest rules that fit a record, from one byte to all of it.
pub(crate) fn rules(record_bytes: usize) -> Vec<Fields> {
    let mut rules = vec![Fields::plain(0, record_bytes), Fields::plain(record_bytes - 1, 1)];
    if record_bytes >= 4 {
        rules.push(Fields::plain(1, record_bytes - 2));
        let half = record_bytes / 2;
        rules.push(Fields { first: (half, half), second: (0, half), second_descends: true });
    }
    if record_bytes >= 16 {
        rules.extend([
            Fields::plain(0, 8),
            Fields::plain(2, 9),
            Fields::plain(0, 10),
            Fields::plain(3, 13),
        ]);
    }
    rules
}
