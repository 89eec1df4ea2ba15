//! The Sort Benchmark's printable record, equal to the public generator's output byte for byte.
//!
//! | bytes | content, for record n with `hi` and `lo` the halves of X(n+1) |
//! |---|---|
//! | 0-7 | the eight low digits of `hi` in base 95, least significant first, each 0x20 + digit |
//! | 8-9 | the two low digits of `lo` likewise |
//! | 10-11 | two spaces |
//! | 12-43 | n in 32 upper-case hexadecimal digits |
//! | 44-45 | two spaces |
//! | 46-97 | the 13 hexadecimal digits of the low 52 bits of `lo`, each four times |
//! | 98-99 | CR LF |
//!
//! Digits are split in halves (divide by 95^4, then by 95^2, then by 95). So the divisions, which
//! compile to multiplications, don't wait for each other. Hexadecimal digits are spread eight at a
//! time within a word.

use crate::lcg::Lcg;
use crate::mix::Words;

pub(crate) const RECORD_BYTES: usize = 100;

/// The bytes that are equal in all records: spaces, and CR LF.
const FRAME: [u8; RECORD_BYTES] = {
    let mut frame = [b' '; RECORD_BYTES];
    frame[98] = b'\r';
    frame[99] = b'\n';
    frame
};

/// Two digits of `value` (below 95^2) in base 95, the least significant first: the low bytes of a
/// number in memory order.
#[inline]
fn two_digits(value: u32) -> u32 {
    (value % 95) | ((value / 95) << 8)
}

/// Four digits of `value` (below 95^4) in base 95, the least significant first: the bytes of a
/// number in memory order.
#[inline]
fn four_digits(value: u32) -> u32 {
    two_digits(value % 9025) | two_digits(value / 9025) << 16
}

/// The ten bytes of a key, from the halves of a number.
#[inline]
fn digits(hi: u64, lo: u64) -> [u8; 10] {
    const FOUR: u64 = 95 * 95 * 95 * 95;
    let low = four_digits((hi % FOUR) as u32);
    let high = four_digits((hi / FOUR % FOUR) as u32);
    let eight = (u64::from(high) << 32 | u64::from(low)) + 0x2020_2020_2020_2020;
    let two = two_digits((lo % 9025) as u32) + 0x2020;
    let mut key = [0; 10];
    key[..8].copy_from_slice(&eight.to_le_bytes());
    key[8..].copy_from_slice(&(two as u16).to_le_bytes());
    key
}

/// The upper-case hexadecimal digits of `value`, the most significant first.
#[inline]
fn hex8(value: u32) -> [u8; 8] {
    let mut spread = u64::from(value);
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // Adding 6 to a digit above 9 carries into the upper half of its byte. Such a digit gets seven
    // more, from '9' + 1 to 'A'.
    let letters = (spread + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (spread + 0x3030_3030_3030_3030 + letters * 7).to_be_bytes()
}

#[inline]
fn hex16(value: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    digits[..8].copy_from_slice(&hex8((value >> 32) as u32));
    digits[8..].copy_from_slice(&hex8(value as u32));
    digits
}

/// True if the bytes are lines of 100 bytes that end in CR LF, one a record. This includes
/// generated records and any other printable records of the Sort Benchmark. The last line may be
/// truncated.
pub(crate) fn are_lines(bytes: &[u8]) -> bool {
    let (records, rest) = bytes.as_chunks::<RECORD_BYTES>();
    let is_printable = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let is_line =
        |record: &[u8; RECORD_BYTES]| record.ends_with(b"\r\n") && is_printable(&record[..98]);
    !records.is_empty() && records.iter().all(is_line) && is_printable(&rest[..rest.len().min(98)])
}

/// Fills `out` with consecutive records. The first one has the number `first` and takes the next
/// number of `numbers`.
pub(crate) fn fill(mut numbers: Lcg, first: u128, out: &mut [u8]) {
    let (records, rest) = out.as_chunks_mut::<RECORD_BYTES>();
    debug_assert!(rest.is_empty());
    for (record, n) in records.iter_mut().zip(first..) {
        let number = numbers.step();
        let lo = number as u64;
        let mut line = FRAME;
        line[..10].copy_from_slice(&key(number));
        line[12..28].copy_from_slice(&hex16((n >> 64) as u64));
        line[28..44].copy_from_slice(&hex16(n as u64));
        for (quad, digit) in line[46..98].as_chunks_mut::<4>().0.iter_mut().zip(hex16(lo << 12)) {
            *quad = [digit; 4];
        }
        *record = line;
    }
}

/// The key of a record whose first number is `number`.
#[inline]
pub(crate) fn key(number: u128) -> [u8; 10] {
    digits((number >> 64) as u64, number as u64)
}

/// Writes a key at `position` of 2^64: ten digits in base 95, the most significant first. 2^64 is
/// below 95^10.
#[inline]
pub(crate) fn put_position(record: &mut [u8; RECORD_BYTES], position: u64) {
    let mut left = position;
    for byte in record[..10].iter_mut().rev() {
        *byte = b' ' + (left % 95) as u8;
        left /= 95;
    }
}

/// Writes a key of random printable characters.
#[inline]
pub(crate) fn put_random(record: &mut [u8; RECORD_BYTES], mut words: Words) {
    record[..10].copy_from_slice(&key(words.step_wide()));
}
