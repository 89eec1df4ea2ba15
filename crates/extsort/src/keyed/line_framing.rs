//! The bytes of a line with its key, and the way back, in place.
//!
//! ```text
//!  key, in codes | 01 | line without its delimiter, in codes | 00
//!  key, in codes | 01 | rest of the line, in codes | 00            keys are beginnings of lines
//! ```
//!
//! The bytes 00, 01 and 02 are 02 02, 02 03 and 02 04; all others stand for themselves. Codes keep
//! the order of the bytes, and the end of a key comes before any of them. So keyed lines compare as
//! their keys do, and those with equal keys as their lines.

use std::ops::Range;
use xsort_kernels::lines::line_end;

/// Ends a key.
const KEY_END: u8 = 1;
/// The first byte of a code of two bytes; the largest byte that has one.
const CODE: u8 = 2;
/// Behind [`CODE`]: the byte 0, and more for the others.
const ZERO: u8 = 2;
/// From this length on, lines get no more memory than they need.
const LONG_BYTES: usize = 64 << 10;
/// Ends a keyed line.
const LINE_END: u8 = 0;

/// Appends the key of a line, which `push_key` appends as it is, and what comes behind it: the line
/// without its delimiter, or the rest of one that begins with its key.
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

/// Appends `key`, which is a part of a line, and the line: the first `bytes` bytes of `tail`, which
/// may go on behind it.
#[inline]
pub(super) fn push_line_behind_part(
    out: &mut Vec<u8>,
    (tail, bytes): (&[u8], usize),
    key: Range<usize>,
) {
    let line = &tail[..bytes];
    if bytes > LONG_BYTES || has_low_bytes(line) {
        return push_keyed_line(out, line, |out| out.extend_from_slice(&line[key]));
    }
    push_with_end(out, &tail[key.start..], key.len(), KEY_END);
    push_with_end(out, tail, bytes, LINE_END);
}

/// Appends a line that begins with its key of `key_bytes` bytes: the first `bytes` bytes of `tail`,
/// which may go on behind it.
#[inline]
pub(super) fn push_split_line(out: &mut Vec<u8>, (tail, bytes): (&[u8], usize), key_bytes: usize) {
    let (key, rest) = tail[..bytes].split_at(key_bytes);
    if bytes > LONG_BYTES || has_low_bytes(&tail[..bytes]) {
        return push_keyed_line(out, rest, |out| out.extend_from_slice(key));
    }
    push_with_end(out, tail, key_bytes, KEY_END);
    push_with_end(out, &tail[key_bytes..], rest.len(), LINE_END);
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

/// The same from behind, up to the first byte that has another code.
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

/// Whether one of the bytes is no more than [`CODE`]. Most lines are short: eight at a time, the
/// last eight once more.
#[inline]
fn has_low_bytes(bytes: &[u8]) -> bool {
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

/// Where the key of a keyed line ends; all of a beginning without an end.
#[inline]
pub(super) fn key_bytes(keyed: &[u8]) -> usize {
    line_end(keyed, KEY_END)
}

/// The line behind a key of so many bytes, without codes.
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
    let mut bytes = line.iter();
    while let Some(&byte) = bytes.next() {
        work.push(match byte {
            CODE => bytes.next().map_or(0, |code| code.wrapping_sub(ZERO)),
            byte => byte,
        });
    }
    work
}

/// Takes keys away from lines. It begins before a keyed line, and takes bytes in pieces of any
/// length.
#[derive(Clone, Copy, Debug)]
pub(super) struct RestoreLines {
    delimiter: u8,
    /// Whether keys are beginnings of lines, and so belong to them.
    are_split: bool,
    at: Place,
}

/// Where in a keyed line the next byte is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Key,
    Line,
    /// In a line, behind the first byte of a code.
    Code,
}

impl RestoreLines {
    /// For lines that end with `delimiter`; `are_split` if they begin with their keys.
    pub(super) fn new(delimiter: u8, are_split: bool) -> RestoreLines {
        let mut restore = RestoreLines { delimiter, are_split, at: Place::Line };
        restore.at = restore.begin();
        restore
    }

    /// Where a keyed line begins.
    #[inline(always)]
    fn begin(&self) -> Place {
        if self.are_split { Place::Line } else { Place::Key }
    }

    /// Writes a keyed line, without its end, as the line and its delimiter to the front of `out`,
    /// which is longer. Returns how many bytes that is.
    #[inline]
    pub(super) fn put(&self, keyed: &[u8], out: &mut [u8]) -> usize {
        let key_bytes = key_bytes(keyed);
        let behind = keyed.get(key_bytes + 1..).unwrap_or_default();
        let from = if self.are_split { key_bytes } else { 0 };
        out[..from].copy_from_slice(&keyed[..from]);
        let mut bytes = from + behind.len();
        out[from..bytes].copy_from_slice(behind);
        if has_low_bytes(&out[..bytes]) {
            bytes = RestoreLines { at: Place::Line, ..*self }.apply(&mut out[..bytes]);
        }
        out[bytes] = self.delimiter;
        bytes + 1
    }

    /// Replaces keyed lines by lines with delimiters. Returns how many bytes they have.
    pub(super) fn apply(&mut self, bytes: &mut [u8]) -> usize {
        let (mut from, mut to) = (0, 0);
        while from < bytes.len() {
            match self.at {
                Place::Key => {
                    let Some(end) = memchr::memchr(KEY_END, &bytes[from..]) else { break };
                    from += end + 1;
                    self.at = Place::Line;
                }
                Place::Line => {
                    // Only a line that is split has the end of its key in it.
                    let end = memchr::memchr3(LINE_END, KEY_END, CODE, &bytes[from..]);
                    let own = end.unwrap_or(bytes.len() - from);
                    bytes.copy_within(from..from + own, to);
                    (from, to) = (from + own, to + own);
                    match bytes.get(from) {
                        None => {}
                        Some(&LINE_END) => {
                            bytes[to] = self.delimiter;
                            (from, to) = (from + 1, to + 1);
                            self.at = self.begin();
                        }
                        Some(&KEY_END) => from += 1,
                        Some(_) => {
                            from += 1;
                            self.at = Place::Code;
                        }
                    }
                }
                Place::Code => {
                    bytes[to] = bytes[from].wrapping_sub(ZERO);
                    (from, to) = (from + 1, to + 1);
                    self.at = Place::Line;
                }
            }
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(2), Just(3), Just(b'\n'), any::<u8>()];
        vec(byte, 0..9)
    }

    fn keyed(key: &[u8], line: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_keyed_line(&mut out, line, |out| out.extend_from_slice(key));
        out
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
        fn a_part_as_the_key_is_as_any_key(
            line in prop_oneof![bytes(), vec(any::<u8>(), 0..80)],
            ends in (any::<u8>(), any::<u8>()),
            behind in vec(any::<u8>(), 0..40),
        ) {
            let [a, b] = [ends.0, ends.1].map(|end| usize::from(end) % (line.len() + 1));
            let part = a.min(b)..a.max(b);
            let tail = [&line[..], &behind].concat();
            let mut out = b"before".to_vec();
            push_line_behind_part(&mut out, (&tail, line.len()), part.clone());
            prop_assert_eq!(&out[6..], keyed(&line[part], &line));
        }

        #[test]
        fn split_lines_compare_as_keys_then_lines_and_come_back(
            texts in vec((bytes(), bytes()), 2),
            behind in vec(any::<u8>(), 0..40),
            step in 1..9usize,
        ) {
            let lines = [0, 1].map(|at| [&texts[at].0[..], &texts[at].1].concat());
            let mut split = Vec::new();
            let ends = [0, 1].map(|at| {
                let tail = [&lines[at][..], &behind].concat();
                push_split_line(&mut split, (&tail, lines[at].len()), texts[at].0.len());
                split.len()
            });
            let [a, b] = [&split[..ends[0] - 1], &split[ends[0]..ends[1] - 1]];
            prop_assert_eq!(a.cmp(b), texts[0].cmp(&texts[1]));
            let restore = RestoreLines::new(b'\n', true);
            for (keyed, line) in [a, b].into_iter().zip(&lines) {
                let mut out = vec![0; keyed.len() + 1];
                let bytes = restore.put(keyed, &mut out);
                prop_assert_eq!(&out[..bytes], [&line[..], b"\n"].concat());
            }
            let (mut restore, mut restored) = (restore, Vec::new());
            for part in split.chunks_mut(step) {
                let bytes = restore.apply(part);
                restored.extend_from_slice(&part[..bytes]);
            }
            prop_assert_eq!(restored, [&lines[0][..], b"\n", &lines[1], b"\n"].concat());
        }

        #[test]
        fn lines_come_back(lines in vec((bytes(), bytes()), 0..5), step in 1..9usize) {
            let mut all: Vec<u8> = lines.iter().flat_map(|(key, line)| keyed(key, line)).collect();
            let expected: Vec<u8> =
                lines.iter().flat_map(|(_, line)| line.iter().copied().chain([b'\n'])).collect();
            let (mut restore, mut restored) = (RestoreLines::new(b'\n', false), Vec::new());
            for part in all.chunks_mut(step * step * step) {
                let bytes = restore.apply(part);
                restored.extend_from_slice(&part[..bytes]);
            }
            prop_assert_eq!(restored, expected);
            for (key, line) in &lines {
                let keyed = keyed(key, line);
                let keyed = keyed.strip_suffix(&[LINE_END]).unwrap();
                prop_assert!(!keyed.contains(&LINE_END));
                let mut work = Vec::new();
                prop_assert_eq!(line_behind(keyed, key_bytes(keyed), &mut work), &line[..]);
                let mut out = vec![0; keyed.len() + 1];
                let bytes = RestoreLines::new(b'\n', false).put(keyed, &mut out);
                prop_assert_eq!(&out[..bytes], [&line[..], b"\n"].concat());
            }
        }
    }
}
