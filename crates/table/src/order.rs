//! The order of keyed rows: that of their keys' bytes.

use crate::encode::key_bytes;
use std::cmp::Ordering;
use xsort_extsort::variable::LineOrder;

/// Compares rows by their keys. Those with equal keys keep the order of the input.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByKey;

impl LineOrder for ByKey {
    type Words = [u64; 2];

    type Scratch = ();

    fn word(&self, line: &[u8], skip: usize, (): &mut ()) -> u64 {
        // A key that ends behind the word's first bytes ends with a code of two.
        let seen = &line[..line.len().min(skip + 9)];
        let key = &seen[..key_bytes(seen)];
        let Some(rest) = key.get(skip..) else { return 0 };
        let mut word = [0; 8];
        let bytes = rest.len().min(8);
        word[..bytes].copy_from_slice(&rest[..bytes]);
        u64::from_be_bytes(word)
    }

    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        a[..key_bytes(a)].cmp(&b[..key_bytes(b)])
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut ()) -> bool {
        self.compare(a, b, scratch) == Ordering::Equal
    }

    fn is_exact(&self) -> bool {
        true
    }
}
