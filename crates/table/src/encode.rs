//! The bytes of a keyed row: a key whose order is that of its bytes, and the row behind it, without
//! the byte that ends a line for the engine.
//!
//! ```text
//!  | field | field | ... | 01 01 | row, escaped | 00
//! ```
//!
//! The codes, of which none is the beginning of another:
//!
//! | byte | rising text, fixed fields, rows | falling text (of the inverted byte) |
//! |---|---|---|
//! | end of a text | 01 02 | ff |
//! | 00 | 01 03 | 01 03 |
//! | 01 | 01 04 | 01 04 |
//! | fe | fe | fe 02 |
//! | ff | ff | fe 03 |
//! | another | itself | itself |
//!
//! Codes keep the order of the bytes, and the end of a text comes before any byte (behind any, in
//! falling text). So keys compare as their fields do, one after the other, and a key is never the
//! beginning of another one. A byte 01 always begins a code: 01 01 is the end of the key wherever
//! it is seen.

/// Ends a keyed row: the delimiter of the engine's lines.
pub(crate) const ROW_END: u8 = 0;
/// The first byte of a code of two bytes.
pub(crate) const CODE: u8 = 1;
/// Behind [`CODE`]: the end of a key.
pub(crate) const KEY_END: u8 = 1;
/// Behind [`CODE`]: the end of a text.
const TEXT_END: u8 = 2;
/// Behind [`CODE`]: the byte 0, and one more for the byte 1.
const ZERO: u8 = 3;

/// Appends the codes of bytes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Some(at) = memchr::memchr2(0, 1, bytes) {
        out.extend_from_slice(&bytes[..at]);
        out.extend([CODE, ZERO + bytes[at]]);
        bytes = &bytes[at + 1..];
    }
    out.extend_from_slice(bytes);
}

/// The byte whose code is [`CODE`] and `second`.
pub(crate) fn unescaped(second: u8) -> u8 {
    second.wrapping_sub(ZERO)
}

/// Appends the fields of a key.
pub(crate) struct KeyWriter<'o> {
    pub(crate) out: &'o mut Vec<u8>,
    pub(crate) is_descending: bool,
}

impl KeyWriter<'_> {
    /// A byte that isn't turned around: which kind of value follows.
    pub(crate) fn mark(&mut self, mark: u8) {
        debug_assert!(mark > 1);
        self.out.push(mark);
    }

    /// Bytes of which none that another value has is a beginning: of a fixed length, or with an end
    /// of their own.
    pub(crate) fn fixed(&mut self, bytes: &[u8]) {
        let turn = if self.is_descending { 0xff } else { 0 };
        for &byte in bytes {
            match byte ^ turn {
                byte @ (0 | 1) => self.out.extend([CODE, ZERO + byte]),
                byte => self.out.push(byte),
            }
        }
    }

    /// Bytes of any length.
    pub(crate) fn text(&mut self, bytes: &[u8]) {
        if !self.is_descending {
            push_escaped(self.out, bytes);
            self.out.extend([CODE, TEXT_END]);
            return;
        }
        for &byte in bytes {
            match !byte {
                byte @ (0 | 1) => self.out.extend([CODE, ZERO + byte]),
                byte @ (0xfe | 0xff) => self.out.extend([0xfe, byte - 0xfe + 2]),
                byte => self.out.push(byte),
            }
        }
        self.out.push(0xff);
    }
}

/// Bytes of a keyed row's key, which ends before the code of its end; all of a row without one.
pub(crate) fn key_bytes(row: &[u8]) -> usize {
    let mut from = 0;
    while let Some(at) = memchr::memchr(CODE, &row[from..]) {
        match row.get(from + at + 1) {
            Some(&KEY_END) | None => return from + at,
            Some(_) => from += at + 2,
        }
    }
    row.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn key(texts: &[Vec<u8>], is_descending: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = KeyWriter { out: &mut out, is_descending };
        texts.iter().for_each(|text| writer.text(text));
        out
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(2), Just(0xfe), Just(0xff), any::<u8>()];
        vec(byte, 0..6)
    }

    proptest! {
        #[test]
        fn keys_compare_as_their_texts(a in vec(bytes(), 2), b in vec(bytes(), 2)) {
            let (rising, falling) = (a.cmp(&b), b.cmp(&a));
            prop_assert_eq!(key(&a, false).cmp(&key(&b, false)), rising);
            prop_assert_eq!(key(&a, true).cmp(&key(&b, true)), falling);
        }

        #[test]
        fn the_end_of_a_key_is_found(text in bytes(), row in bytes(), is_descending: bool) {
            let mut keyed = key(&[text], is_descending);
            let length = keyed.len();
            keyed.extend([CODE, KEY_END]);
            push_escaped(&mut keyed, &row);
            prop_assert_eq!(key_bytes(&keyed), length);
            prop_assert!(!keyed.contains(&ROW_END));
        }
    }
}
