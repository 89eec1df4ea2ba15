//! Keyed records whose key is a single text. They are built whole, or in pieces for buffers that
//! are too small, and decoded in place.
//!
//! The end of the key also ends its text, as in [`end_key`](super::encode::end_key).

use super::encode::{CODE, KEY_END, PLAIN, RECORD_END, STUFFED, ZERO, push_escaped, push_record};
use super::stuffing::{Stuffing, unstuff};
use std::ops::Range;

/// Most bytes of a key that are appended at once. Each byte takes at most two.
const KEY_PART_BYTES: usize = Stuffing::CODE_BYTES_MAX / 2;

/// Longest keyed record in bytes for a key of `key_bytes` and a record of `record_bytes` bytes.
#[must_use]
pub const fn keyed_bytes_max(key_bytes: usize, record_bytes: usize) -> usize {
    // The end of the key, the kind of record, a code where none is full, and the end.
    let marks = 2 + 1 + 1 + 1;
    key_bytes
        .saturating_mul(2)
        .saturating_add(record_bytes)
        .saturating_add(record_bytes / (Stuffing::CODE_BYTES_MAX - 1) + marks)
}

/// Appends a key and a record as a keyed record.
#[inline]
pub fn push_keyed(out: &mut Vec<u8>, key: &[u8], record: &[u8]) {
    push_escaped(out, key);
    out.extend([CODE, KEY_END]);
    push_record(out, record, b"");
}

/// A keyed record in pieces.
#[derive(Clone, Copy, Debug)]
pub struct KeyedPieces<'r> {
    key: &'r [u8],
    record: &'r [u8],
    next: Part<'r>,
}

#[derive(Clone, Copy, Debug)]
enum Part<'r> {
    Key,
    Plain,
    Stuffed(Stuffing<'r>),
    Nothing,
}

impl<'r> KeyedPieces<'r> {
    /// The least size of a piece.
    pub const PIECE_BYTES_MIN: usize = 2 * Stuffing::CODE_BYTES_MAX;

    /// The pieces of the keyed record of a key and a record.
    #[must_use]
    pub fn new(key: &'r [u8], record: &'r [u8]) -> Self {
        KeyedPieces { key, record, next: Part::Key }
    }

    /// Appends the next piece, until `out` has about `bytes_max` bytes and never more. Returns true
    /// if another piece follows.
    pub fn push_piece(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        debug_assert!(bytes_max >= Self::PIECE_BYTES_MIN);
        while out.len() + Stuffing::CODE_BYTES_MAX <= bytes_max {
            match &mut self.next {
                Part::Key if self.key.is_empty() => {
                    let is_plain = memchr::memchr(RECORD_END, self.record).is_none();
                    out.extend([CODE, KEY_END, if is_plain { PLAIN } else { STUFFED }]);
                    let stuffed = Part::Stuffed(Stuffing::new(self.record));
                    self.next = if is_plain { Part::Plain } else { stuffed };
                }
                Part::Key => {
                    let (part, rest) = self.key.split_at(self.key.len().min(KEY_PART_BYTES));
                    push_escaped(out, part);
                    self.key = rest;
                }
                Part::Plain if !self.record.is_empty() => {
                    let (part, rest) =
                        self.record.split_at(self.record.len().min(bytes_max - out.len()));
                    out.extend_from_slice(part);
                    self.record = rest;
                }
                Part::Stuffed(stuffing) if !stuffing.is_over() => {
                    stuffing.push_code(out);
                }
                Part::Plain | Part::Stuffed(_) => {
                    out.push(RECORD_END);
                    self.next = Part::Nothing;
                }
                Part::Nothing => return false,
            }
        }
        true
    }
}

/// The places of a key and its record in decoded bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The bytes of the key.
    pub key: Range<usize>,
    /// The bytes of the record.
    pub record: Range<usize>,
}

/// Decodes a keyed record, without the byte that ends it, into its key and its record, in place.
/// `None` if it isn't a keyed record.
#[must_use]
pub fn decode_keyed(keyed: &mut [u8]) -> Option<Decoded> {
    let (key, kind) = decode_key(keyed)?;
    let from = kind + 1;
    let bytes = match *keyed.get(kind)? {
        PLAIN => keyed.len() - from,
        STUFFED => unstuff(&mut keyed[from..]),
        _ => return None,
    };
    Some(Decoded { key: 0..key, record: from..from + bytes })
}

/// Decodes the key in place. Returns its length, and the place of the byte that tells the kind of
/// the record.
#[inline]
fn decode_key(keyed: &mut [u8]) -> Option<(usize, usize)> {
    let (mut from, mut to) = (0, 0);
    loop {
        let own = keyed[from..].iter().position(|&byte| byte == CODE)?;
        if from > to {
            keyed.copy_within(from..from + own, to);
        }
        to += own;
        from += own + 2;
        match *keyed.get(from - 1)? {
            KEY_END => return Some((to, from)),
            code => keyed[to] = code.checked_sub(ZERO).filter(|&byte| byte <= CODE)?,
        }
        to += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(2), Just(0xff), any::<u8>()];
        let long = (0..1200usize, vec(0..1200usize, 0..3)).prop_map(|(length, zeros)| {
            let mut bytes = vec![7; length];
            zeros.into_iter().filter(|&at| at < length).for_each(|at| bytes[at] = 0);
            bytes
        });
        prop_oneof![vec(byte, 0..6), long]
    }

    proptest! {
        #[test]
        fn keys_and_records_come_back(key in bytes(), record in bytes()) {
            let mut keyed = Vec::new();
            push_keyed(&mut keyed, &key, &record);
            prop_assert!(keyed.len() <= keyed_bytes_max(key.len(), record.len()));
            prop_assert_eq!(keyed.pop(), Some(RECORD_END));
            prop_assert!(!keyed.contains(&RECORD_END));
            let decoded = decode_keyed(&mut keyed).unwrap();
            prop_assert_eq!(&keyed[decoded.key], &key);
            prop_assert_eq!(&keyed[decoded.record], &record);
        }

        #[test]
        fn pieces_are_the_whole(key in bytes(), record in bytes(), more in 0..900usize) {
            let bytes_max = KeyedPieces::PIECE_BYTES_MIN + more;
            let mut pieces = KeyedPieces::new(&key, &record);
            let (mut joined, mut is_more) = (Vec::new(), true);
            while is_more {
                let mut piece = Vec::new();
                is_more = pieces.push_piece(&mut piece, bytes_max);
                prop_assert!(piece.len() <= bytes_max);
                joined.extend(piece);
            }
            let mut whole = Vec::new();
            push_keyed(&mut whole, &key, &record);
            prop_assert_eq!(joined, whole);
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in vec(any::<u8>(), 0..40)) {
            drop(decode_keyed(&mut bytes));
        }

        #[test]
        fn keys_compare_as_bytes_do(a in bytes(), b in bytes()) {
            let keyed = [&a, &b].map(|key| {
                let mut out = Vec::new();
                push_keyed(&mut out, key, b"");
                out
            });
            prop_assert_eq!(keyed[0].cmp(&keyed[1]), a.cmp(&b));
        }
    }
}
