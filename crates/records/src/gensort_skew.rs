//! Skewed keys of the Sort Benchmark: the front of a record's key is replaced by the front of a key
//! from the beginning of the data.
//!
//! For record n it comes from record `donor(n)`, the number of significant bits of n, so all
//! records share the keys of the first 129. The replaced length is drawn from bits 32 and up of the
//! low half of X(n+1): in binary records up to 48 bits or (for values up to 63) none, in printable
//! ones up to 6 characters or (for 7) none.

use crate::lcg::Lcg;
use crate::{gensort, gensort_ascii};

/// The keys of all donors, by donor.
#[derive(Clone, Debug)]
pub(crate) struct Skew {
    donors: Box<[[u8; 10]]>,
}

/// The record that donates its key's front to record `n`: the number of significant bits of `n`. As
/// in the public generator, it is 64 from 2^60 to 2^64, and 128 from 2^124 on.
#[inline]
fn donor(n: u128) -> usize {
    match 128 - n.leading_zeros() {
        61..=64 => 64,
        125..=128 => 128,
        bits => bits as usize,
    }
}

impl Skew {
    /// The donors of the sequence that begins with `origin`. `key` converts a number to a key.
    pub(crate) fn new(origin: u128, key: fn(u128) -> [u8; 10]) -> Skew {
        let mut numbers = Lcg::at(origin, 0);
        Skew { donors: (0..=128).map(|_| key(numbers.step())).collect() }
    }

    /// Skews binary records from number `first` on. Their first numbers are the next ones of
    /// `numbers`.
    pub(crate) fn apply(&self, mut numbers: Lcg, first: u128, out: &mut [u8]) {
        for (record, n) in
            out.as_chunks_mut::<{ gensort::RECORD_BYTES }>().0.iter_mut().zip(first..)
        {
            let bits = numbers.step() as u64 >> 32 & 63;
            if bits <= 48 {
                let lent = !(u64::MAX >> bits);
                let theirs = front(&self.donors[donor(n)]);
                let front = theirs & lent | front(record) & !lent;
                record[..8].copy_from_slice(&front.to_be_bytes());
            }
        }
    }

    /// Skews printable records from number `first` on. Their first numbers are the next ones of
    /// `numbers`.
    pub(crate) fn apply_ascii(&self, mut numbers: Lcg, first: u128, out: &mut [u8]) {
        for (record, n) in
            out.as_chunks_mut::<{ gensort_ascii::RECORD_BYTES }>().0.iter_mut().zip(first..)
        {
            let bytes = (numbers.step() as u64 >> 32 & 7) as usize;
            if bytes <= 6 {
                record[..bytes].copy_from_slice(&self.donors[donor(n)][..bytes]);
            }
        }
    }
}

/// The first eight bytes as a number.
#[inline]
fn front(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.first_chunk().expect("a key of ten bytes"))
}
