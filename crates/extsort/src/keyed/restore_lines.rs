//! Turns keyed lines back into lines: whole lines, and long ones in pieces, in place.

use super::line_framing::{
    CODE, KEY_END, KeyPlace, LINE_END, MOVED_BYTES_MAX, ZERO, has_low_bytes, key_bytes, uncode,
};
use memchr::{memchr, memchr3};
use std::ops::Range;

/// Removes keys from lines, or puts them back in their place. It starts at the beginning of a keyed
/// line, and takes bytes in pieces of any length.
#[derive(Debug)]
pub(super) struct RestoreLines {
    delimiter: u8,
    place: KeyPlace,
    at: State,
    /// The key of a line that comes in pieces, in codes, if it is to be put back.
    key: Vec<u8>,
}

/// Where in a keyed line the next byte is.
#[derive(Clone, Copy, Debug)]
enum State {
    Key,
    Line,
    /// In a line, after the first byte of a code.
    Code,
}

impl RestoreLines {
    /// For lines that end with `delimiter`, and whose keys are at `place`.
    pub(super) fn new(delimiter: u8, place: KeyPlace) -> RestoreLines {
        RestoreLines { delimiter, place, at: begin(place), key: Vec::new() }
    }

    /// Writes a keyed line, given without its end, as the line and its delimiter to the front of
    /// `out`, which is longer. Returns the number of bytes written.
    #[inline]
    pub(super) fn put(&self, keyed: &[u8], out: &mut [u8]) -> usize {
        let (end, key_end) = (keyed.len(), key_bytes(keyed));
        let rest = end.min(key_end + 1)..end;
        let mut bytes = match self.place {
            KeyPlace::Beginning => join(out, keyed, [0..key_end, rest]),
            KeyPlace::Moved { first_stays } if key_end <= MOVED_BYTES_MAX => {
                let before_end = rest.start + key_bytes(&keyed[rest.clone()]);
                let moved = first_bytes(&keyed[..key_end], first_stays)..key_end;
                let behind = end.min(before_end + 1)..end;
                join(out, keyed, [rest.start..before_end, moved, behind])
            }
            KeyPlace::Before | KeyPlace::Moved { .. } => join(out, keyed, [rest]),
        };
        if has_low_bytes(&out[..bytes]) {
            bytes = uncode(&mut out[..bytes]);
        }
        out[bytes] = self.delimiter;
        bytes + 1
    }

    /// Replaces the first `bytes` bytes of `out`, which are keyed lines, by lines with delimiters.
    /// A line grows by the length of its key if the key came with an earlier piece:
    /// [`MOVED_BYTES_MAX`] bytes after the piece are enough. Calls `end_at` with the place of each
    /// delimiter that ends a line. Returns the length of the lines in bytes.
    pub(super) fn apply(
        &mut self,
        out: &mut [u8],
        mut bytes: usize,
        mut end_at: impl FnMut(usize),
    ) -> usize {
        let (mut from, mut to) = (0, 0);
        while from < bytes {
            match self.at {
                State::Key => {
                    let end = memchr(KEY_END, &out[from..bytes]);
                    let key_end = end.map_or(bytes, |end| from + end);
                    self.keep_key(&out[from..key_end]);
                    from = key_end + 1;
                    self.at = if end.is_some() { State::Line } else { State::Key };
                }
                State::Line => {
                    let end = memchr3(LINE_END, KEY_END, CODE, &out[from..bytes]);
                    let own = end.unwrap_or(bytes - from);
                    out.copy_within(from..from + own, to);
                    (from, to) = (from + own + 1, to + own);
                    match end.map(|_| out[from - 1]) {
                        None => {}
                        Some(LINE_END) => {
                            out[to] = self.delimiter;
                            end_at(to);
                            to += 1;
                            self.at = begin(self.place);
                            self.key.clear();
                        }
                        Some(KEY_END) => {
                            let key = self.key_to_put_back();
                            let missing = (to + key.len()).saturating_sub(from);
                            out.copy_within(from..bytes, from + missing);
                            (from, bytes) = (from + missing, bytes + missing);
                            out[to..to + key.len()].copy_from_slice(&key);
                            to += key.len();
                        }
                        Some(_) => self.at = State::Code,
                    }
                }
                State::Code => {
                    out[to] = out[from].wrapping_sub(ZERO);
                    (from, to) = (from + 1, to + 1);
                    self.at = State::Line;
                }
            }
        }
        to
    }

    /// Keeps the next bytes of a key, up to one byte more than a moved key may have.
    fn keep_key(&mut self, codes: &[u8]) {
        if let KeyPlace::Moved { .. } = self.place {
            let room = MOVED_BYTES_MAX + 1 - self.key.len();
            self.key.extend_from_slice(&codes[..codes.len().min(room)]);
        }
    }

    /// Takes the bytes to insert where the bytes before the key end. Empty on a second call.
    fn key_to_put_back(&mut self) -> Vec<u8> {
        let KeyPlace::Moved { first_stays } = self.place else { return Vec::new() };
        let mut key = std::mem::take(&mut self.key);
        if key.len() > MOVED_BYTES_MAX {
            return Vec::new();
        }
        key.drain(..first_bytes(&key, first_stays));
        let bytes = uncode(&mut key);
        key.truncate(bytes);
        key
    }
}

/// The state at the beginning of a keyed line.
#[inline(always)]
fn begin(place: KeyPlace) -> State {
    match place {
        KeyPlace::Beginning => State::Line,
        KeyPlace::Before | KeyPlace::Moved { .. } => State::Key,
    }
}

/// Length of the part of a key, in codes, that stayed in its place.
#[inline(always)]
fn first_bytes(key: &[u8], first_stays: bool) -> usize {
    let bytes = usize::from(first_stays) + usize::from(first_stays && key.first() == Some(&CODE));
    bytes.min(key.len())
}

/// Writes parts of `keyed` one after the other. Returns their total length.
#[inline(always)]
fn join<const N: usize>(out: &mut [u8], keyed: &[u8], parts: [Range<usize>; N]) -> usize {
    /// Up to this length bytes are copied as a block.
    const SHORT: usize = 16;
    let mut to = 0;
    for part in parts {
        let bytes = part.len();
        let block = keyed.get(part.start..).and_then(<[u8]>::first_chunk::<SHORT>);
        match (block, out[to..].first_chunk_mut::<SHORT>()) {
            (Some(block), Some(out)) if bytes <= SHORT => *out = *block,
            _ => out[to..to + bytes].copy_from_slice(&keyed[part]),
        }
        to += bytes;
    }
    to
}

#[cfg(test)]
mod tests {
    use super::super::line_framing::tests::{bytes, line_and_part, with_part};
    use super::super::line_framing::{line_behind, push_keyed_line};
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Restores lines one by one, and in pieces of up to `step` bytes.
    fn restored(place: KeyPlace, keyed: &[Vec<u8>], step: usize) -> [Vec<u8>; 2] {
        let mut restore = RestoreLines::new(b'\n', place);
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        for keyed in keyed {
            let mut out = vec![0; keyed.len() + 1];
            let bytes = restore.put(keyed, &mut out);
            whole.extend_from_slice(&out[..bytes]);
            for piece in [&keyed[..], &[LINE_END]].concat().chunks(step) {
                let mut out = [piece, &[7; MOVED_BYTES_MAX]].concat();
                let bytes = restore.apply(&mut out, piece.len(), |_| ());
                pieces.extend_from_slice(&out[..bytes]);
            }
        }
        [whole, pieces]
    }

    proptest! {
        #[test]
        fn lines_with_parts_as_keys_come_back(
            lines in vec(line_and_part(), 0..5),
            place in 0..4usize,
            step in 1..9usize,
        ) {
            let moved = |first_stays| KeyPlace::Moved { first_stays };
            let place = [KeyPlace::Before, KeyPlace::Beginning, moved(false), moved(true)][place];
            let mut lines = lines;
            if place == KeyPlace::Beginning {
                lines.iter_mut().for_each(|(_, _, key)| key.start = 0);
            }
            let keyed: Vec<_> = lines.iter().map(|line| with_part(line, place)).collect();
            let expected: Vec<u8> = lines
                .iter()
                .flat_map(|(tail, bytes, _)| tail[..*bytes].iter().copied().chain([b'\n']))
                .collect();
            for restored in restored(place, &keyed, step * step * step) {
                prop_assert_eq!(&restored, &expected);
            }
            for ((tail, bytes, key), keyed) in lines.iter().zip(&keyed) {
                prop_assert!(!keyed.contains(&LINE_END));
                let is_short = key.len() <= MOVED_BYTES_MAX && !has_low_bytes(&tail[..*bytes]);
                prop_assert!(place == KeyPlace::Before || !is_short || keyed.len() <= bytes + 3);
                prop_assert!(key_bytes(keyed) >= key.len());
                if place == KeyPlace::Before {
                    let line = line_behind(keyed, key_bytes(keyed), &mut Vec::new()).to_vec();
                    prop_assert_eq!(line, &tail[..*bytes]);
                }
            }
        }

        #[test]
        fn lines_with_other_keys_come_back(
            lines in vec((bytes(), bytes()), 0..5),
            step in 1..9usize,
        ) {
            let keyed = |(key, line): &(Vec<u8>, Vec<u8>)| {
                let mut out = Vec::new();
                push_keyed_line(&mut out, line, |out| out.extend_from_slice(key));
                out.pop();
                out
            };
            let keyed: Vec<_> = lines.iter().map(keyed).collect();
            let expected: Vec<u8> =
                lines.iter().flat_map(|(_, line)| line.iter().copied().chain([b'\n'])).collect();
            for restored in restored(KeyPlace::Before, &keyed, step * step * step) {
                prop_assert_eq!(&restored, &expected);
            }
        }

        /// Whatever bytes a drive returns: no panic, and no more bytes than there is room for.
        #[test]
        fn other_bytes_are_no_panic(
            texts in vec(vec(prop_oneof![0u8..4, any::<u8>()], 0..400), 0..4),
            first_stays in any::<bool>(),
        ) {
            let place = KeyPlace::Moved { first_stays };
            let mut restore = RestoreLines::new(b'\n', place);
            for text in &texts {
                let mut out = vec![0; text.len() + 1];
                restore.put(text, &mut out);
                // A piece of a line doesn't contain the end of a line.
                let piece: Vec<u8> = text.iter().map(|&byte| byte.max(KEY_END)).collect();
                let mut out = [&piece[..], &[7; MOVED_BYTES_MAX]].concat();
                restore.apply(&mut out, piece.len(), |_| ());
            }
        }
    }
}
