//! The three ways to read a key, as one type, which is matched once per block.

use std::cmp::Ordering;

use crate::{FieldsKey, Key, LittleKey, PlainKey};

/// The cheapest key that orders the records of a [`crate::Layout`]; from [`crate::Layout::rule`].
///
/// Match on it outside hot loops, so that the kernels are compiled for one kind of key:
///
/// ```
/// # use xsort_records::*;
/// fn smallest<K: Key>(key: K, records: &[[u8; 4]]) -> Option<&[u8; 4]> {
///     records.iter().min_by(|a, b| key.compare(&a[..], &b[..]))
/// }
/// let layout = Layout::new(4, vec!["0:4:u32le".parse().unwrap()]).unwrap();
/// let records = [[0, 1, 0, 0], [1, 0, 0, 0]];
/// let first = match layout.rule() {
///     KeyRule::Plain(key) => smallest(key, &records),
///     KeyRule::Little(key) => smallest(key, &records),
///     KeyRule::Fields(key) => smallest(key, &records),
/// };
/// assert_eq!(first, Some(&[1, 0, 0, 0]));
/// ```
///
/// A rule is also a [`Key`], for code that reads few records: each call costs a match.
#[derive(Clone, Copy, Debug)]
pub enum KeyRule<'a> {
    /// The key is a range of bytes in the record.
    Plain(PlainKey),
    /// The key is one unsigned little-endian integer.
    Little(LittleKey),
    /// Any other key.
    Fields(FieldsKey<'a>),
}

impl Key for KeyRule<'_> {
    #[inline]
    fn bytes(&self) -> usize {
        match self {
            KeyRule::Plain(key) => key.bytes(),
            KeyRule::Little(key) => key.bytes(),
            KeyRule::Fields(key) => key.bytes(),
        }
    }

    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        match self {
            KeyRule::Plain(key) => key.word(record, at),
            KeyRule::Little(key) => key.word(record, at),
            KeyRule::Fields(key) => key.word(record, at),
        }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            KeyRule::Plain(key) => key.compare(a, b),
            KeyRule::Little(key) => key.compare(a, b),
            KeyRule::Fields(key) => key.compare(a, b),
        }
    }

    #[inline]
    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        match self {
            KeyRule::Plain(key) => key.compare_encoded(record, encoded),
            KeyRule::Little(key) => key.compare_encoded(record, encoded),
            KeyRule::Fields(key) => key.compare_encoded(record, encoded),
        }
    }

    #[inline]
    fn encode(&self, record: &[u8], out: &mut [u8]) {
        match self {
            KeyRule::Plain(key) => key.encode(record, out),
            KeyRule::Little(key) => key.encode(record, out),
            KeyRule::Fields(key) => key.encode(record, out),
        }
    }
}
