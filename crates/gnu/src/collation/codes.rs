//! Codes for the weights of the first level: one byte for each letter and digit of ASCII.
//!
//! In most locales' tables a letter's first-level weight has one or two bytes, because hundreds of
//! rare letters lie between those of ASCII. Here each *known* weight has a code, and so has each
//! *gap* between two of them:
//!
//! ```text
//! the weights of a, b and c: 51, 5E, 69       51 69 60 51 --> a, c, gap after b, 60, a
//! codes: gap before a | a | gap after a | b | gap after b | c | gap after c
//! ```
//!
//! After the code of a gap comes the weight in it, unchanged, and then codes again. No known weight
//! is a prefix of another one. So codes compare as the weights do: where two begin to differ,
//! either one is below, equal to or above a known weight and the other is not; or both are in the
//! same gap, and the same bytes follow. A weight whose first byte is above all known ones needs no
//! code.
//!
//! No code begins with a byte below [`LEAST`].

use super::rows::COUNT;
use super::rules::WEIGHTS;

/// The least first byte of a code.
const LEAST: u8 = 8;
/// Precedes a byte that would be smaller, or equal to this one.
const SMALL: u8 = LEAST;
/// The code of the gap before all known weights.
const FIRST: u8 = LEAST + 1;
/// Most weights that can be known.
const KNOWN_MAX: usize = 100;

/// Maps weights to codes.
#[derive(Debug)]
pub(super) struct Codes {
    /// Known weights in the form of entries, sorted.
    known: Vec<u32>,
    /// Codes of the known weights of one byte; 0 for other bytes.
    single: [u8; 256],
    /// For the first byte of two-byte weights, their row in `pairs` plus one; 0 if there are none.
    leads: [u8; 256],
    /// Codes of the known weights of two bytes, by the second byte; 0 for other bytes.
    pairs: Vec<[u8; 256]>,
    /// Weights from this byte on stand for themselves. More than 255 if there are none.
    above: u16,
}

impl Codes {
    /// No codes: all weights stand for themselves.
    pub(super) fn none() -> Codes {
        Codes { known: Vec::new(), single: [0; 256], leads: [0; 256], pairs: Vec::new(), above: 0 }
    }

    /// True if a byte that stands for itself is its own code.
    pub(super) fn is_as_it_is(byte: u8) -> bool {
        byte > SMALL
    }

    /// Codes for these weights, in the form of entries. None may be a prefix of another one.
    pub(super) fn new(weights: impl Iterator<Item = u32>) -> Codes {
        let mut known: Vec<u32> = weights.take(KNOWN_MAX).collect();
        known.sort_unstable();
        known.dedup();
        let above = known.last().map_or(0, |last| (last >> 24) as u16 + 1);
        let is_free = above > u16::from(gap(known.len()));
        let above = if is_free { above } else { u16::MAX };
        let mut codes = Codes { above, known, ..Codes::none() };
        for (at, &weights) in codes.known.iter().enumerate() {
            let [lead, second, ..] = weights.to_be_bytes().map(usize::from);
            match weights & COUNT {
                1 => codes.single[lead] = known_code(at),
                2 => {
                    if codes.leads[lead] == 0 {
                        codes.pairs.push([0; 256]);
                        codes.leads[lead] = codes.pairs.len() as u8;
                    }
                    codes.pairs[usize::from(codes.leads[lead]) - 1][second] = known_code(at);
                }
                _ => {}
            }
        }
        codes
    }

    /// The code of a known weight.
    pub(super) fn of(&self, weights: u32) -> Option<u8> {
        self.known.binary_search(&(weights & (WEIGHTS | COUNT))).ok().map(known_code)
    }

    /// Appends the codes of weights.
    pub(super) fn push(&self, weights: &[u8], out: &mut Vec<u8>) {
        let mut rest = weights;
        while let [lead, behind @ ..] = rest {
            if let Some((code, count)) = self.known(rest) {
                out.push(code);
                rest = &rest[count..];
                continue;
            }
            if u16::from(*lead) < self.above {
                let below = self.known.partition_point(|&known| known & WEIGHTS <= word(rest));
                out.push(gap(below));
            }
            let (own, others) = behind.split_at(behind.len().min(more_bytes(*lead)));
            [*lead].iter().chain(own).for_each(|&byte| push_byte(byte, out));
            rest = others;
        }
    }

    /// Calls `each` with the weights until it returns false or one isn't known. Returns true if all
    /// are known and `each` returned true.
    pub(super) fn are_known(&self, weights: &[u8], mut each: impl FnMut(u32) -> bool) -> bool {
        let mut rest = weights;
        while !rest.is_empty() {
            let Some((code, count)) = self.known(rest) else { return false };
            if !each(self.known[usize::from(code - FIRST) / 2]) {
                return false;
            }
            rest = &rest[count..];
        }
        true
    }

    /// The code of the known weight at the beginning of `weights`, and its length in bytes.
    #[inline]
    fn known(&self, weights: &[u8]) -> Option<(u8, usize)> {
        let lead = usize::from(weights[0]);
        if self.single[lead] > 0 {
            return Some((self.single[lead], 1));
        }
        if let (Some(&second), 1..) = (weights.get(1), self.leads[lead]) {
            let code = self.pairs[usize::from(self.leads[lead]) - 1][usize::from(second)];
            if code > 0 {
                return Some((code, 2));
            }
        }
        // Weights of three bytes are rare.
        let at = self.known.binary_search(&(word(weights) | 3)).ok()?;
        (weights.len() >= 3).then_some((known_code(at), 3))
    }
}

/// The code of the known weight at this index.
fn known_code(at: usize) -> u8 {
    gap(at) + 1
}

/// The code of the gap after `below` known weights.
fn gap(below: usize) -> u8 {
    FIRST + 2 * below as u8
}

/// The first three bytes of weights, in the form of an entry.
fn word(weights: &[u8]) -> u32 {
    let byte = |at: usize| u32::from(weights.get(at).copied().unwrap_or(0));
    byte(0) << 24 | byte(1) << 16 | byte(2) << 8
}

/// Number of bytes after the first byte of a weight. Weights are coded like characters in UTF-8.
/// Codes are in order even if they aren't.
fn more_bytes(lead: u8) -> usize {
    match lead {
        ..0xC0 => 0,
        0xC0..0xE0 => 1,
        0xE0.. => 2,
    }
}

fn push_byte(byte: u8, out: &mut Vec<u8>) {
    if !Codes::is_as_it_is(byte) {
        out.push(SMALL);
    }
    out.push(byte);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn codes() -> Codes {
        let known: [&[u8]; 8] = [
            &[0x05],
            &[0x50],
            &[0x51],
            &[0x60],
            &[0xC2, 0x85],
            &[0xC2, 0x86],
            &[0xC4, 0x04],
            &[0xE1, 0x80, 0x81],
        ];
        Codes::new(known.iter().map(|weights| word(weights) | weights.len() as u32))
    }

    fn coded(weights: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        codes().push(weights, &mut out);
        out
    }

    #[test]
    fn known_weights_have_one_byte() {
        assert_eq!(coded(&[0x05, 0x51, 0xC2, 0x86, 0xE1, 0x80, 0x81]).len(), 4);
        assert_eq!(coded(&[0xE2, 0x80, 0x81, 0x51]).len(), 4, "it stands for itself");
        assert_eq!(codes().of(0x5100_0001), Some(coded(&[0x51])[0]));
        assert_eq!(codes().of(0x5200_0001), None);
    }

    proptest! {
        #[test]
        fn codes_compare_as_weights(
            weights in vec(vec(prop_oneof![
                2 => prop::sample::select(vec![
                    2u8, 5, 8, 9, 0x50, 0x51, 0x60, 0x80, 0x81, 0x85, 0x86, 0xC2, 0xC4, 0xE1, 0xFD,
                ]),
                1 => 2u8..0xFE,
            ], 0..8), 2),
        ) {
            let [a, b] = [&weights[0], &weights[1]].map(|weights| coded(weights));
            prop_assert_eq!(a.cmp(&b), weights[0].cmp(&weights[1]));
            // Also with the byte that ends them.
            let [a, b] = [a, b].map(|codes| [codes, vec![LEAST - 1]].concat());
            prop_assert_eq!(a.cmp(&b), weights[0].cmp(&weights[1]));
        }
    }
}
