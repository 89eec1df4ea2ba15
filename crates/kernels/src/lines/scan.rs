//! Finding the ends of lines, 64 bytes at a time.
//!
//! A mask of 64 comparisons and a loop over its bits take 3 ns for a line of ten bytes. A search
//! from line to line takes 8 ns.

use super::mask::{MASK_BYTES, mask};
use std::ops::Range;

/// Calls `line` with the beginning and end of each line of `text`, without its delimiter. The last
/// line may lack the delimiter.
#[inline(always)]
pub fn for_each_line(text: &[u8], delimiter: u8, mut line: impl FnMut(usize, usize)) {
    let mut start = 0;
    let mut base = 0;
    let mut blocks = text.chunks_exact(MASK_BYTES);
    for block in &mut blocks {
        let block: &[u8; MASK_BYTES] = block.try_into().expect("chunks are exact");
        let mut ends = mask(block, delimiter);
        while ends != 0 {
            let end = base + ends.trailing_zeros() as usize;
            line(start, end);
            start = end + 1;
            ends &= ends - 1;
        }
        base += MASK_BYTES;
    }
    for (at, _) in blocks.remainder().iter().enumerate().filter(|(_, byte)| **byte == delimiter) {
        line(start, base + at);
        start = base + at + 1;
    }
    if start < text.len() {
        line(start, text.len());
    }
}

/// Length of the first line of `text`, without its delimiter.
#[inline(always)]
pub fn line_end(text: &[u8], delimiter: u8) -> usize {
    let (blocks, rest) = text.as_chunks::<MASK_BYTES>();
    // Calling memchr pays only for long lines.
    for (at, block) in blocks.iter().take(MASKS_MAX).enumerate() {
        match mask(block, delimiter) {
            0 => {}
            ends => return at * MASK_BYTES + ends.trailing_zeros() as usize,
        }
    }
    let from = MASK_BYTES * blocks.len().min(MASKS_MAX);
    let end = match blocks.len() {
        ..=MASKS_MAX => position_in_short(rest, delimiter),
        _ => memchr::memchr(delimiter, &text[from..]),
    };
    end.map_or(text.len(), |end| from + end)
}

/// Position of a byte in a text shorter than a mask. Searches eight bytes at a time; the last eight
/// may overlap.
#[inline(always)]
fn position_in_short(text: &[u8], wanted: u8) -> Option<usize> {
    const ALL: u64 = 0x0101_0101_0101_0101;
    let in_word = |from: usize, bytes: &[u8; 8]| {
        // The upper bit of the first byte that equals `wanted`, and of some later bytes.
        let differ = u64::from_le_bytes(*bytes) ^ (ALL * u64::from(wanted));
        let found = differ.wrapping_sub(ALL) & !differ & (ALL << 7);
        (found != 0).then(|| from + found.trailing_zeros() as usize / 8)
    };
    let Some(last) = text.last_chunk() else {
        return text.iter().position(|&byte| byte == wanted);
    };
    let words = text.as_chunks().0.iter().zip((0..).step_by(8));
    let found = words.map(|(word, from)| in_word(from, word)).find_map(|found| found);
    found.or_else(|| in_word(text.len() - 8, last))
}

/// Ends of lines within this many masks are searched for here, later ends by memchr.
const MASKS_MAX: usize = 4;

/// Texts of at least this size are left to memchr. Its first search detects the processor's
/// features with ten CPUID instructions, each of which takes 4 to 25 us in a virtual machine: too
/// long for small inputs.
const LARGE: usize = 64 << 10;

/// Number of delimiters in `text`.
pub fn count_lines(text: &[u8], delimiter: u8) -> usize {
    if text.len() >= LARGE {
        return memchr::memchr_iter(delimiter, text).count();
    }
    let blocks = text.chunks_exact(MASK_BYTES);
    let rest = blocks.remainder().iter().filter(|&&byte| byte == delimiter).count();
    let ends = |block: &[u8]| {
        mask(block.try_into().expect("chunks are exact"), delimiter).count_ones() as usize
    };
    blocks.map(ends).sum::<usize>() + rest
}

/// Length in bytes of the whole lines of `text`: up to and including its last delimiter.
pub fn whole_lines_bytes(text: &[u8], delimiter: u8) -> usize {
    let mut rest = text;
    while let Some((before, block)) = rest.split_last_chunk::<MASK_BYTES>() {
        match mask(block, delimiter) {
            0 => rest = before,
            ends => return rest.len() - ends.leading_zeros() as usize,
        }
    }
    rest.iter().rposition(|&byte| byte == delimiter).map_or(0, |last| last + 1)
}

/// Range of the last line of `text`, without its delimiter. Each line of the text has one.
pub fn last_line(text: &[u8], delimiter: u8) -> Range<usize> {
    let end = text.len().saturating_sub(1);
    whole_lines_bytes(&text[..end], delimiter)..end
}

/// Long prefixes are compared this many bytes at a time.
const SHARED_BLOCK_BYTES: usize = 4 << 10;

/// Length in bytes of the prefix that two lines share.
#[inline]
pub fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let blocks = |bytes| <[u8]>::as_chunks::<SHARED_BLOCK_BYTES>(bytes).0.iter();
    let equal = blocks(a).zip(blocks(b)).take_while(|(a, b)| a == b).count();
    let mut shared = equal * SHARED_BLOCK_BYTES;
    for (a, b) in a[shared..].as_chunks::<8>().0.iter().zip(b[shared..].as_chunks::<8>().0) {
        let differ = word(a) ^ word(b);
        if differ != 0 {
            return shared + differ.trailing_zeros() as usize / 8;
        }
        shared += 8;
    }
    shared + a[shared..].iter().zip(&b[shared..]).take_while(|(a, b)| a == b).count()
}

/// True if the first `bytes` bytes of both tails are equal. Both have that many. Compares the ends
/// first, because similar lines usually differ there.
#[inline(always)]
pub(super) fn begin_with_same(a: &[u8], b: &[u8], bytes: usize) -> bool {
    const SHORT: usize = size_of::<u128>();
    if let (1..=SHORT, Some(a), Some(b)) = (bytes, a.first_chunk(), b.first_chunk()) {
        let differ = u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b);
        return differ << (8 * (SHORT - bytes)) == 0;
    }
    let (a, b) = (&a[..bytes], &b[..bytes]);
    a.last_chunk::<8>() == b.last_chunk() && a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_any_length_ends_at_its_first_delimiter() {
        for bytes in [0, 1, 63, 64, 65, 255, 256, 257, 319, 320, 321, 1000] {
            for behind in [0, 1, 70, 700] {
                let mut text = vec![b'x'; bytes];
                assert_eq!(line_end(&text, b'\n'), bytes);
                text.extend(vec![b'\n'; behind]);
                assert_eq!(line_end(&text, b'\n'), bytes, "{behind}");
            }
        }
    }

    #[test]
    fn lines_are_the_same_up_to_their_ends() {
        for bytes in 0..40 {
            for behind in [0, 1, 20] {
                let a = vec![b'x'; bytes + behind];
                let mut b = a.clone();
                b[bytes..].fill(b'y');
                assert!(begin_with_same(&a, &b, bytes));
                for at in 0..bytes {
                    b[at] = b'y';
                    assert!(!begin_with_same(&a, &b, bytes), "{at} of {bytes}");
                    b[at] = b'x';
                }
            }
        }
    }

    #[test]
    fn lines_share_what_is_before_the_first_byte_that_differs() {
        const BLOCK: usize = SHARED_BLOCK_BYTES;
        let line = vec![b'x'; 3 * BLOCK];
        for shared in [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 9, 3 * BLOCK - 1] {
            let mut other = line.clone();
            other[shared] = b'y';
            assert_eq!(shared_bytes(&line, &other), shared);
            assert_eq!(shared_bytes(&line[..shared], &line), shared, "one ends there");
        }
        assert_eq!(shared_bytes(&line, &line), line.len());
    }
}
