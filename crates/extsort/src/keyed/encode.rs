//! The bytes of a keyed record: a key that compares byte by byte, followed by the record, without
//! the byte that ends a line for the engine.
//!
//! ```text
//!  | field | field | ... | 01 01 | 02 | record |          00
//!                                | 03 | record, stuffed | 00
//! ```
//!
//! The codes of a key's fields. No code is a prefix of another one:
//!
//! | byte | ascending text, fixed fields | descending text (of the inverted byte) |
//! |---|---|---|
//! | end of a text | 01 02 | ff |
//! | 00 | 01 03 | 01 03 |
//! | 01 | 01 04 | 01 04 |
//! | fe | fe | fe 02 |
//! | ff | ff | fe 03 |
//! | another | itself | itself |
//!
//! Codes keep the order of the bytes. The end of a text sorts before any byte, and in descending
//! text after any byte. So keys compare field by field, and no key is a prefix of another one. A
//! byte 01 always begins a code: the first 01 01 of a keyed record ends its key, and also the
//! ascending text that may be its last field. A record without the byte 0 follows as it is; any
//! other is stuffed.

use super::stuffing::push_stuffed;
use xsort_kernels::lines::{MASK_BYTES, mask};

/// Ends a keyed record: the delimiter of the engine's lines.
pub const RECORD_END: u8 = 0;
/// The first byte of a code of two bytes.
pub(super) const CODE: u8 = 1;
/// The second byte of the code that ends a key, after [`CODE`].
pub(super) const KEY_END: u8 = 1;
/// Length of the code that ends a key, in bytes.
pub(super) const END_BYTES: usize = 2;
/// The second byte of the code that ends an ascending text, after [`CODE`].
pub(super) const TEXT_END: u8 = 2;
/// The second byte of the code for the byte 0, after [`CODE`]. The code for the byte 1 is one more.
pub(super) const ZERO: u8 = 3;
/// Follows a key whose record is stored as it is.
pub(super) const PLAIN: u8 = 2;
/// Follows a key whose record is stuffed.
pub(super) const STUFFED: u8 = 3;

/// True if `bytes` has a byte that needs a code. Checks eight bytes at a time.
#[inline]
fn has_codes(bytes: &[u8]) -> bool {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    // Carries into the highest bit of each byte above 1.
    const MORE: u64 = u64::from_ne_bytes([0x7f - CODE; 8]);
    let (words, rest) = bytes.as_chunks::<8>();
    let is_more = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        ((word & LOW) + MORE) | word | LOW
    };
    words.iter().fold(u64::MAX, |all, word| all & is_more(word)) != u64::MAX
        || rest.iter().any(|&byte| byte <= CODE)
}

/// Appends `bytes`, with codes for the bytes 0 and 1.
#[inline]
pub(super) fn push_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    if !has_codes(bytes) {
        return out.extend_from_slice(bytes);
    }
    while let Some(at) = bytes.iter().position(|&byte| byte <= CODE) {
        out.extend_from_slice(&bytes[..at]);
        out.extend([CODE, ZERO + bytes[at]]);
        bytes = &bytes[at + 1..];
    }
    out.extend_from_slice(bytes);
}

/// Appends the fields of a key.
#[derive(Debug)]
pub struct KeyWriter<'o> {
    /// The buffer that the fields are appended to.
    pub out: &'o mut Vec<u8>,
    /// True if larger values come first.
    pub is_descending: bool,
}

impl KeyWriter<'_> {
    /// Appends a byte above 1 that tells which kind of value follows. It is never inverted.
    #[inline]
    pub fn mark(&mut self, mark: u8) {
        debug_assert!(mark > CODE);
        self.out.push(mark);
    }

    /// Appends bytes that are no prefix of another value's: they have a fixed length or an end of
    /// their own.
    #[inline]
    pub fn fixed(&mut self, bytes: &[u8]) {
        if !self.is_descending {
            return push_escaped(self.out, bytes);
        }
        for part in bytes.chunks(16) {
            let mut turned = [0; 16];
            turned.iter_mut().zip(part).for_each(|(turned, byte)| *turned = !byte);
            push_escaped(self.out, &turned[..part.len()]);
        }
    }

    /// Appends a text of any length.
    #[inline]
    pub fn text(&mut self, bytes: &[u8]) {
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

/// Ends a key. If its last field is an ascending text, this end replaces the text's.
#[inline]
pub fn end_key(out: &mut Vec<u8>) {
    match out.as_mut_slice() {
        [.., CODE, end @ TEXT_END] => *end = KEY_END,
        _ => out.extend([CODE, KEY_END]),
    }
}

/// Appends a record after its key. The record is `record` followed by `more`, which has no byte 0.
#[inline]
pub fn push_record(out: &mut Vec<u8>, record: &[u8], more: &[u8]) {
    debug_assert!(!more.contains(&RECORD_END));
    if memchr::memchr(RECORD_END, record).is_none() {
        return push_plain_record(out, record, more);
    }
    out.push(STUFFED);
    push_stuffed(out, record, more);
    out.push(RECORD_END);
}

/// Appends a record without a byte 0 after its key. The record is `record` followed by `more`.
#[inline]
pub fn push_plain_record(out: &mut Vec<u8>, record: &[u8], more: &[u8]) {
    debug_assert!(!record.contains(&RECORD_END) && !more.contains(&RECORD_END));
    out.push(PLAIN);
    out.extend_from_slice(record);
    out.extend_from_slice(more);
    out.push(RECORD_END);
}

/// Returns a keyed record's key with the code of its end. With [`ByKey`](super::ByKey) it compares
/// as the whole record does.
#[must_use]
pub fn key_and_end(keyed: &[u8]) -> &[u8] {
    &keyed[..keyed.len().min(key_bytes(keyed) + END_BYTES)]
}

/// Length of a keyed record's key in bytes, without the code of its end. If the end is missing, all
/// bytes count as key.
#[inline]
pub(super) fn key_bytes(keyed: &[u8]) -> usize {
    let mut from = 0;
    if let Some(block) = keyed.first_chunk() {
        // `KEY_END` follows the first byte of a code only at the end of a key.
        let mut codes = mask(block, CODE);
        while codes != 0 {
            let at = codes.trailing_zeros() as usize;
            if keyed.get(at + 1).is_none_or(|&code| code == KEY_END) {
                return at;
            }
            from = at + 2;
            codes &= codes - 1;
        }
        from = from.max(MASK_BYTES);
    }
    while let Some(at) = memchr::memchr(CODE, &keyed[from..]) {
        match keyed.get(from + at + 1) {
            Some(&KEY_END) | None => return from + at,
            Some(_) => from += at + 2,
        }
    }
    keyed.len()
}

#[cfg(test)]
mod tests {
    use super::super::restore::Restore;
    use super::*;
    use crate::lines::PutLine;
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

    /// Records of any length, including long ones with few zeros.
    fn records() -> impl Strategy<Value = Vec<u8>> {
        let long = (0..900usize, vec(0..900usize, 0..3)).prop_map(|(length, zeros)| {
            let mut record = vec![7; length];
            zeros.into_iter().filter(|&at| at < length).for_each(|at| record[at] = 0);
            record
        });
        prop_oneof![bytes(), long]
    }

    proptest! {
        #[test]
        fn keys_compare_as_their_texts(a in vec(bytes(), 2), b in vec(bytes(), 2)) {
            let (rising, falling) = (a.cmp(&b), b.cmp(&a));
            prop_assert_eq!(key(&a, false).cmp(&key(&b, false)), rising);
            prop_assert_eq!(key(&a, true).cmp(&key(&b, true)), falling);
        }

        #[test]
        fn records_come_back_without_their_keys(
            texts in vec((bytes(), records()), 0..5),
            is_descending: bool,
            step in 1..9usize,
        ) {
            let (mut keyed, mut expected) = (Vec::new(), Vec::new());
            for (text, record) in texts {
                let from = keyed.len();
                keyed.extend(key(&[text], is_descending));
                end_key(&mut keyed);
                let own = keyed.len() - from - END_BYTES;
                push_record(&mut keyed, &record, b"\r\n");
                prop_assert_eq!(key_bytes(&keyed[from..]), own);
                let end = keyed.len() - 1;
                prop_assert!(!keyed[from..end].contains(&RECORD_END));
                let mut out = vec![0; end - from + 1];
                let bytes = Restore::default().put(&keyed[from..end], &mut out);
                prop_assert_eq!(&out[..bytes], [&record[..], b"\r\n"].concat());
                expected.extend(record);
                expected.extend(b"\r\n");
            }
            let (mut restore, mut left) = (Restore::default(), u64::MAX);
            let mut restored: Vec<u8> = Vec::new();
            for part in keyed.chunks_mut(step * step * step) {
                let bytes = restore.apply(part, &mut left);
                restored.extend(&part[..bytes]);
            }
            prop_assert_eq!(restored, expected);
        }
    }
}
