//! The bytes of a line with its key.
//!
//! ```text
//!  key | 01 | line | 00                               the key is copied
//!  key | 01 | rest of the line | 00                   the line begins with it
//!  key | 01 | bytes before it | 01 | rest | 00        it is moved, up to 256 bytes
//! ```
//!
//! The line is stored without its delimiter. The bytes 00, 01 and 02 are written as the codes 02
//! 02, 02 03 and 02 04; all others stand for themselves. Codes keep the order of the bytes, and the
//! end of a key sorts before any of them. So keyed lines compare by their keys, and lines with
//! equal keys by their bytes.
//!
//! A moved key keeps this order, because lines are compared only if their keys are equal. Then the
//! first byte in which the lines differ is before both keys or after both. A line may be a prefix
//! of another line's first bytes only if it ends before its key would begin. If the place of a key
//! depends on its first byte, as on the blank that ends the field before it, this byte is in both
//! places.

use crate::lines::PIECE_ROOM;
use std::ops::Range;
use xsort_kernels::lines::line_end;

/// Ends a key, and the bytes before a moved key.
pub(super) const KEY_END: u8 = 1;
/// The first byte of a code of two bytes; the largest byte that has one.
pub(super) const CODE: u8 = 2;
/// The second byte of the code for the byte 0, after [`CODE`]. The codes for 1 and 2 follow.
pub(super) const ZERO: u8 = 2;
/// Ends a keyed line.
pub(super) const LINE_END: u8 = 0;
/// Most bytes of a moved key, in codes. A longer key is copied, since code that puts a key back has
/// room for no more. Keys that compare equal are equally long, so the choice is the same for both.
pub(super) const MOVED_BYTES_MAX: usize = PIECE_ROOM;
/// Lines longer than this get exactly the memory that they need.
const LONG_BYTES: usize = 64 << 10;

/// Where a key is stored that is a part of its line. All places except [`Before`](KeyPlace::Before)
/// need keys whose place [`part_of`](super::LineKeys::part_of) always knows, and exclude
/// [`LineTies::Judged`](super::LineTies::Judged).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A copy before the line.
    Before,
    /// At the beginning of its line, where it stays.
    Beginning,
    /// Moved from its line to the front. The bytes before the key, with its first byte if that
    /// stays, must tell that the key comes next: in no other line do the same bytes continue before
    /// the key, except in a line that ends before its key.
    Moved {
        /// True if the first byte after the bytes before the key is in both places.
        first_stays: bool,
    },
}

/// Appends a key, which `push_key` appends without codes, and the bytes `behind` it: the line
/// without its delimiter, or the rest of a line that begins with its key.
#[inline]
pub(super) fn push_keyed_line(
    out: &mut Vec<u8>,
    behind: &[u8],
    push_key: impl FnOnce(&mut Vec<u8>),
) {
    if behind.len() > LONG_BYTES {
        // Memory for a long line is scarce. Its key may be as long.
        out.reserve_exact(2 * behind.len() + 2);
    }
    let from = out.len();
    push_key(out);
    add_codes(out, from);
    out.push(KEY_END);
    let from = out.len();
    out.extend_from_slice(behind);
    add_codes(out, from);
    out.push(LINE_END);
}

/// Appends `key`, a part of a line, and the line. The line is the first `bytes` bytes of `tail`,
/// which may be longer.
#[inline(always)]
pub(super) fn push_line_with_part(
    out: &mut Vec<u8>,
    line: (&[u8], usize),
    key: Range<usize>,
    place: KeyPlace,
) {
    match place {
        KeyPlace::Before => push_copied(out, line, key),
        KeyPlace::Beginning => push_split(out, line, key.end),
        KeyPlace::Moved { first_stays } => push_moved(out, line, key, first_stays),
    }
}

/// Appends a key, followed by the whole line.
#[inline]
fn push_copied(out: &mut Vec<u8>, (tail, bytes): (&[u8], usize), key: Range<usize>) {
    let line = &tail[..bytes];
    if bytes > LONG_BYTES || has_low_bytes(line) {
        return push_keyed_line(out, line, |out| out.extend_from_slice(&line[key]));
    }
    push_with_end(out, &tail[key.start..], key.len(), KEY_END);
    push_with_end(out, tail, bytes, LINE_END);
}

/// Appends a line that begins with its key of `key_bytes` bytes.
#[inline]
fn push_split(out: &mut Vec<u8>, (tail, bytes): (&[u8], usize), key_bytes: usize) {
    let (key, rest) = tail[..bytes].split_at(key_bytes);
    if bytes > LONG_BYTES || has_low_bytes(&tail[..bytes]) {
        return push_keyed_line(out, rest, |out| out.extend_from_slice(key));
    }
    push_with_end(out, tail, key_bytes, KEY_END);
    push_with_end(out, &tail[key_bytes..], rest.len(), LINE_END);
}

/// Appends a key, then the bytes before it and the bytes after it in the line.
#[inline]
fn push_moved(
    out: &mut Vec<u8>,
    (tail, bytes): (&[u8], usize),
    key: Range<usize>,
    first_stays: bool,
) {
    let line = &tail[..bytes];
    let is_plain = bytes <= LONG_BYTES && !has_low_bytes(line);
    if key.len() > MOVED_BYTES_MAX || !is_plain && coded_bytes(&line[key.clone()]) > MOVED_BYTES_MAX
    {
        return push_copied(out, (tail, bytes), key);
    }
    let before = bytes.min(key.start + usize::from(first_stays));
    let behind = before.max(key.end);
    if !is_plain {
        push_keyed_line(out, &line[..before], |out| out.extend_from_slice(&line[key]));
        out.pop();
        return push_keyed_line(out, &line[behind..], |_| ());
    }
    push_with_end(out, &tail[key.start..], key.len(), KEY_END);
    push_with_end(out, tail, before, KEY_END);
    push_with_end(out, &tail[behind..], bytes - behind, LINE_END);
}

/// Length of a text in codes, in bytes.
fn coded_bytes(text: &[u8]) -> usize {
    text.len() + text.iter().filter(|&&byte| byte <= CODE).count()
}

/// Appends the first `bytes` bytes of `tail`, and `end`.
#[inline]
fn push_with_end(out: &mut Vec<u8>, tail: &[u8], bytes: usize, end: u8) {
    /// Up to this length bytes are copied as a block.
    const SHORT: usize = 32;
    let from = out.len();
    match tail.first_chunk::<SHORT>() {
        Some(block) if bytes < SHORT => {
            out.extend_from_slice(block);
            out[from + bytes] = end;
            out.truncate(from + bytes + 1);
        }
        _ => {
            out.extend_from_slice(&tail[..bytes]);
            out.push(end);
        }
    }
}

/// Replaces the bytes from `from` on by their codes.
#[inline]
fn add_codes(out: &mut Vec<u8>, from: usize) {
    if has_low_bytes(&out[from..]) {
        add_codes_behind_first(out, from);
    }
}

/// Adds codes from the end of `out` backwards, up to the first byte that has another code.
fn add_codes_behind_first(out: &mut Vec<u8>, from: usize) {
    let mut at = out.len();
    let mut missing = out[from..].iter().filter(|&&byte| byte <= CODE).count();
    out.resize(at + missing, 0);
    while missing > 0 {
        at -= 1;
        let byte = out[at];
        if byte <= CODE {
            out[at + missing] = ZERO + byte;
            missing -= 1;
        }
        out[at + missing] = byte.max(CODE);
    }
}

/// True if a byte is at most [`CODE`]. Most lines are short, so it checks eight bytes at a time and
/// the last eight once more.
#[inline]
pub(super) fn has_low_bytes(bytes: &[u8]) -> bool {
    const ALL: u64 = 0x0101_0101_0101_0101;
    let low = |bytes: &[u8; 8]| {
        let word = u64::from_le_bytes(*bytes);
        word.wrapping_sub(ALL * u64::from(CODE + 1)) & !word & (ALL << 7)
    };
    match bytes.last_chunk() {
        Some(last) => {
            bytes.as_chunks().0.iter().fold(low(last), |all, eight| all | low(eight)) != 0
        }
        None => bytes.iter().fold(false, |has_low, &byte| has_low | (byte <= CODE)),
    }
}

/// Length of a keyed line's key in bytes. If the end is missing, all bytes count as key.
#[inline]
pub(super) fn key_bytes(keyed: &[u8]) -> usize {
    line_end(keyed, KEY_END)
}

/// Returns the line after a key of `key_bytes` bytes, without codes. `work` holds the line if it
/// has codes.
pub(super) fn line_behind<'l>(
    keyed: &'l [u8],
    key_bytes: usize,
    work: &'l mut Vec<u8>,
) -> &'l [u8] {
    let line = keyed.get(key_bytes + 1..).unwrap_or_default();
    if memchr::memchr(CODE, line).is_none() {
        return line;
    }
    work.clear();
    work.extend_from_slice(line);
    let bytes = uncode(work);
    &work[..bytes]
}

/// Replaces codes by their bytes, in place. Returns the new length.
pub(super) fn uncode(bytes: &mut [u8]) -> usize {
    let mut from = memchr::memchr(CODE, bytes).unwrap_or(bytes.len());
    let mut to = from;
    while let Some(&byte) = bytes.get(from) {
        let is_code = byte == CODE;
        let code = bytes.get(from + 1).copied().unwrap_or(ZERO);
        bytes[to] = if is_code { code.wrapping_sub(ZERO) } else { byte };
        (from, to) = (from + 1 + usize::from(is_code), to + 1);
    }
    to
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(2), Just(3), Just(b'\n'), any::<u8>()];
        vec(byte, 0..9)
    }

    /// A line with bytes after it, and a part of the line.
    pub(crate) fn line_and_part() -> impl Strategy<Value = (Vec<u8>, usize, Range<usize>)> {
        let line = prop_oneof![bytes(), vec(any::<u8>(), 0..80), vec(60u8.., 0..600)];
        let behind = vec(any::<u8>(), 0..40);
        (line, behind, any::<(u16, u16)>()).prop_map(|(line, behind, ends)| {
            let [a, b] = [ends.0, ends.1].map(|end| usize::from(end) % (line.len() + 1));
            ([&line[..], &behind].concat(), line.len(), a.min(b)..a.max(b))
        })
    }

    fn keyed(key: &[u8], line: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_keyed_line(&mut out, line, |out| out.extend_from_slice(key));
        out
    }

    /// The keyed line whose key is a part of the line, without its end.
    pub(crate) fn with_part(
        (tail, bytes, key): &(Vec<u8>, usize, Range<usize>),
        place: KeyPlace,
    ) -> Vec<u8> {
        let mut out = b"before".to_vec();
        push_line_with_part(&mut out, (tail, *bytes), key.clone(), place);
        assert_eq!(out.pop(), Some(LINE_END));
        out.split_off(6)
    }

    proptest! {
        #[test]
        fn keyed_lines_compare_as_keys_then_lines(
            a in (bytes(), bytes()),
            b in (bytes(), bytes()),
        ) {
            let [keyed_a, keyed_b] = [&a, &b].map(|(key, line)| keyed(key, line));
            prop_assert_eq!(keyed_a.cmp(&keyed_b), a.cmp(&b));
            let (end_a, end_b) = (key_bytes(&keyed_a), key_bytes(&keyed_b));
            prop_assert_eq!(keyed_a[..end_a].cmp(&keyed_b[..end_b]), a.0.cmp(&b.0));
        }

        #[test]
        fn a_part_as_the_key_is_as_any_key(line in line_and_part()) {
            let (tail, bytes, key) = &line;
            let mut expected = keyed(&tail[key.clone()], &tail[..*bytes]);
            expected.pop();
            prop_assert_eq!(with_part(&line, KeyPlace::Before), expected);
        }

        #[test]
        fn split_lines_compare_as_keys_then_lines(texts in vec((bytes(), bytes()), 2)) {
            let [a, b] = [0, 1].map(|at| {
                let (key, rest) = &texts[at];
                let line = [&key[..], rest].concat();
                with_part(&(line, key.len() + rest.len(), 0..key.len()), KeyPlace::Beginning)
            });
            prop_assert_eq!(a.cmp(&b), texts[0].cmp(&texts[1]));
        }

        /// The second field after separators, and the second word with the blanks before it, of
        /// which the first stays.
        #[test]
        fn moved_keys_compare_as_keys_then_lines(
            texts in vec(vec(prop_oneof![Just(b' '), Just(b'a'), 0u8..3, any::<u8>()], 0..7), 2),
            long in prop_oneof![Just(0usize), 250usize..260],
            first_stays in any::<bool>(),
        ) {
            let is_blank = |byte: u8| byte == b' ';
            let [a, b] = [0, 1].map(|at| {
                let mut line = texts[at].clone();
                let blanks = |from: usize| (from..line.len()).find(|&at| is_blank(line[at]));
                let others = |from: usize| (from..line.len()).find(|&at| !is_blank(line[at]));
                let end = line.len();
                let key = if first_stays {
                    let start = others(0).and_then(blanks).unwrap_or(end);
                    start..others(start).and_then(blanks).unwrap_or(end)
                } else {
                    let start = blanks(0).map_or(end, |at| at + 1);
                    start..blanks(start).unwrap_or(end)
                };
                let mut key = key;
                if key.len() > 1 {
                    line.splice(key.end..key.end, std::iter::repeat_n(b'l', long));
                    key.end += long;
                }
                let bytes = line.len();
                (line, bytes, key)
            });
            let keyed = [&a, &b].map(|line| with_part(line, KeyPlace::Moved { first_stays }));
            let parts = [&a, &b].map(|(line, _, key)| (&line[key.clone()], line));
            prop_assert_eq!(keyed[0].cmp(&keyed[1]), parts[0].cmp(&parts[1]));
        }
    }
}
