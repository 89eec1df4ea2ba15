//! Blocks of 4,096 alphanumeric characters, without gaps or line ends, compared whole.
//!
//! The 62 symbols are `0-9A-Za-z`, in ASCII order. A random byte b becomes the symbol `b * 62 /
//! 256`. So eight of the symbols are a quarter more frequent than the others, but no byte needs a
//! division.

use crate::mix::Words;

pub(crate) const RECORD_BYTES: usize = 4096;

/// The symbol for a number below 62.
#[inline]
fn symbol(digit: u8) -> u8 {
    digit
        + b'0'
        + if digit > 9 { b'A' - b'9' - 1 } else { 0 }
        + if digit > 35 { b'a' - b'Z' - 1 } else { 0 }
}

/// Fills one block with the symbols for `words`.
pub(crate) fn fill(mut words: Words, block: &mut [u8; RECORD_BYTES]) {
    for eight in block.as_chunks_mut::<8>().0 {
        *eight = words.step().to_le_bytes();
    }
    // A separate pass, which the compiler vectorises to 16 bytes at a time.
    for byte in block {
        *byte = symbol(((u16::from(*byte) * 62) >> 8) as u8);
    }
}

/// Writes `position` in base 62 to the beginning of the block: eleven digits, the most significant
/// first. 2^64 is below 62^11.
#[inline]
pub(crate) fn put_position(block: &mut [u8; RECORD_BYTES], position: u64) {
    let mut left = position;
    for byte in block[..11].iter_mut().rev() {
        *byte = symbol((left % 62) as u8);
        left /= 62;
    }
}
