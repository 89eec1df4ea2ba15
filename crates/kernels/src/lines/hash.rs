//! Hashes of lines. Their sum doesn't depend on the order of the lines, so the sums over a sort's
//! input and output must be equal.

use super::{ByBytes, LineOrder};
use xxhash_rust::xxh3::xxh3_64;

/// Odd numbers without a pattern: digits of pi, e and the golden ratio.
const FIRST: u64 = 0x243f_6a88_85a3_08d3;
const SECOND: u64 = 0xb7e1_5162_8aed_2a6b;
const THIRD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of the line that is the first `bytes` bytes of `tail`, which may continue after it.
/// Sums of hashes, modulo 2^64, are equal for equal collections of lines, and almost surely differ
/// for different ones.
///
/// Short lines are mixed by two multiplications that use both halves of the product (Wang Yi's
/// wyhash). Longer lines are hashed by XXH3.
#[inline(always)]
pub fn line_hash(tail: &[u8], bytes: usize) -> u64 {
    match bytes {
        0..=8 => word_hash(ByBytes.word_of(tail, bytes, 0, &mut ()), bytes),
        9..=16 => {
            let line = &tail[..bytes];
            let (first, last) = line.first_chunk().zip(line.last_chunk()).expect("it has as many");
            mix(u64::from_be_bytes(*first), u64::from_be_bytes(*last), bytes)
        }
        _ => xxh3_64(&tail[..bytes]),
    }
}

/// The hash of a line of at most eight bytes, given as a big-endian number padded with zeros.
#[inline(always)]
pub(crate) fn word_hash(word: u64, bytes: usize) -> u64 {
    mix(word, 0, bytes)
}

#[inline(always)]
fn mix(first: u64, last: u64, bytes: usize) -> u64 {
    fold(fold(first ^ FIRST, last ^ SECOND) ^ bytes as u64, THIRD)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn what_lies_behind_a_line_does_not_count() {
        let text: Vec<u8> = (0..100).collect();
        for bytes in 0..60 {
            let other: Vec<u8> = text
                .iter()
                .enumerate()
                .map(|(at, &byte)| if at < bytes { byte } else { !byte })
                .collect();
            assert_eq!(line_hash(&text, bytes), line_hash(&text[..bytes], bytes), "{bytes}");
            assert_eq!(line_hash(&text, bytes), line_hash(&other, bytes), "{bytes}");
        }
    }

    #[test]
    fn lines_and_pairs_of_lines_differ() {
        let numbers: Vec<u64> = (0..2000u32)
            .map(|number| number.to_string().into_bytes())
            .chain((0..40).map(|zeros| vec![0; zeros]))
            .map(|line| line_hash(&line, line.len()))
            .collect();
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
        let pairs = numbers
            .iter()
            .enumerate()
            .flat_map(|(at, a)| numbers[at..].iter().map(|b| a.wrapping_add(*b)));
        let distinct: HashSet<u64> = pairs.collect();
        assert_eq!(distinct.len(), numbers.len() * (numbers.len() + 1) / 2);
    }
}
