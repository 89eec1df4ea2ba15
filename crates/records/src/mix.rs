//! Random words for a number. They depend only on seed, purpose and number.
//!
//! This is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014), started at a hash of seed, purpose and number. A word costs two multiplications
//! and depends on no other word, so the processor overlaps them.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (Stafford's variant 13): a permutation of the 64-bit words.
#[inline]
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A pseudorandom number for `number`: the first word of SplitMix64 that is seeded with it. No two
/// numbers have the same.
pub fn split_mix(number: u64) -> u64 {
    mix(number.wrapping_add(GOLDEN))
}

/// The inverse of [`mix`].
fn unmix(mut word: u64) -> u64 {
    word = (word ^ (word >> 31) ^ (word >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
    word = (word ^ (word >> 27) ^ (word >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
    word ^ (word >> 30) ^ (word >> 60)
}

/// The purpose of random words. Different purposes share words only by chance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The record's own bytes.
    Record = 1,
    /// The choice of a record's key by its pattern.
    Choice = 2,
    /// The bytes of a key that several records share.
    SharedKey = 3,
    /// The beginning of gensort's sequence.
    Origin = 4,
}

/// A family of random words, with a sequence for each number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    base: u64,
}

impl Source {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Source {
        Source { base: mix(mix(seed) ^ (purpose as u64).wrapping_mul(GOLDEN)) }
    }

    /// The sequence of words for `number`.
    #[inline]
    pub(crate) fn words(self, number: u128) -> Words {
        let low = mix(self.base.wrapping_add(number as u64));
        Words { state: mix(low ^ (number >> 64) as u64) }
    }
}

/// An endless sequence of random words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    state: u64,
}

impl Words {
    /// The sequence of words after `word`.
    pub(crate) fn after(word: u64) -> Words {
        Words { state: unmix(word) }
    }

    #[inline]
    pub(crate) fn step(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Returns two words as one number.
    #[inline]
    pub(crate) fn step_wide(&mut self) -> u128 {
        u128::from(self.step()) << 64 | u128::from(self.step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_from_one_another() {
        for number in 0..1000 {
            let mut words = Source::new(7, Purpose::Record).words(number);
            let first = words.step();
            assert_eq!(mix(unmix(first)), first);
            assert_eq!(Words::after(first).step_wide(), words.step_wide());
        }
    }
}
