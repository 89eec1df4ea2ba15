//! Choosing the keys of generated records: distributions that are hard for a sort, or too easy.
//!
//! Every choice is a function of seed, record number and total, in constant time and with integers
//! only. So any block can be generated anywhere, and is equal on every machine.

use std::fmt;
use std::str::FromStr;

use crate::mix::{Purpose, Source};

/// The distribution of keys over the records. All except [`Pattern::Uniform`] replace the key by
/// one that is legal for the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// The format's own keys.
    #[default]
    Uniform,
    /// Keys that strictly increase with the record's number, spread over the range of keys.
    Sorted,
    /// Keys that strictly decrease with the record's number, spread over the range of keys.
    Reversed,
    /// One key for all records.
    Equal,
    /// Sixteen keys, equally likely.
    Few,
    /// 1,048,575 keys. The probability of the k-th is proportional to 1/k (Zipf's law with exponent
    /// 1).
    Zipf,
    /// One key for 99 of 100 records; the others as in [`Pattern::Uniform`].
    Heavy,
}

/// The error for a name that isn't a pattern's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no pattern '{name}': use uniform, sorted, reversed, equal, few, zipf or heavy")]
pub struct UnknownPattern {
    name: String,
}

impl Pattern {
    /// All patterns, in the order in which a help text lists them.
    #[must_use]
    pub const fn all() -> &'static [Pattern] {
        use Pattern::{Equal, Few, Heavy, Reversed, Sorted, Uniform, Zipf};
        &[Uniform, Sorted, Reversed, Equal, Few, Zipf, Heavy]
    }

    /// The name, as parsed and printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::Sorted => "sorted",
            Pattern::Reversed => "reversed",
            Pattern::Equal => "equal",
            Pattern::Few => "few",
            Pattern::Zipf => "zipf",
            Pattern::Heavy => "heavy",
        }
    }

    /// A description of one line for a help text.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Pattern::Uniform => "the format's own random keys",
            Pattern::Sorted => "keys that increase with the record's number",
            Pattern::Reversed => "keys that decrease",
            Pattern::Equal => "the same key in all records",
            Pattern::Few => "16 different keys",
            Pattern::Zipf => "a million different keys, the k-th as frequent as 1/k",
            Pattern::Heavy => "one key in 99% of the records",
        }
    }
}

impl FromStr for Pattern {
    type Err = UnknownPattern;

    fn from_str(name: &str) -> Result<Pattern, UnknownPattern> {
        let found = Pattern::all().iter().find(|pattern| pattern.name() == name);
        found.copied().ok_or_else(|| UnknownPattern { name: name.to_owned() })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// The key that a pattern chooses for one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyChoice {
    /// The format's own key.
    Own,
    /// The key at this position in the range of keys, of 2^64 in all.
    Position(u64),
    /// The key that all records with this rank share.
    Shared(u64),
}

/// Chooses keys for the records of one generated data set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyChooser {
    pattern: Pattern,
    source: Source,
    start: u128,
    total: u64,
    /// Distance between neighbouring positions of a sorted data set: at least 1, because there are
    /// fewer than 2^64 records.
    stride: u128,
}

impl KeyChooser {
    pub(crate) fn new(pattern: Pattern, seed: u64, start: u128, total: u64) -> KeyChooser {
        let stride = (1u128 << 64) / u128::from(total.max(1));
        KeyChooser { pattern, source: Source::new(seed, Purpose::Choice), start, total, stride }
    }

    /// The choice for the record at `index`, counted from the start and below the total.
    #[inline]
    pub(crate) fn choose(&self, index: u64) -> KeyChoice {
        let position = |rank: u64| KeyChoice::Position((u128::from(rank) * self.stride) as u64);
        let number = self.start + u128::from(index);
        match self.pattern {
            Pattern::Uniform => KeyChoice::Own,
            Pattern::Sorted => position(index),
            Pattern::Reversed => position(self.total - 1 - index),
            Pattern::Equal => KeyChoice::Shared(0),
            Pattern::Few => KeyChoice::Shared(self.source.words(number).step() >> 60),
            Pattern::Zipf => KeyChoice::Shared(zipf(self.source, number)),
            Pattern::Heavy => {
                // 2^64 / 100, rounded: the share of records that keep their own key.
                const HUNDREDTH: u64 = u64::MAX / 100 + 1;
                let own = self.source.words(number).step() < HUNDREDTH;
                if own { KeyChoice::Own } else { KeyChoice::Shared(0) }
            }
        }
    }
}

/// Number of octaves of ranks: 1, 2-3, 4-7, ... up to 2^20 - 1.
const OCTAVES: u64 = 20;

/// A rank k from 1 to 2^20 - 1, with a probability proportional to 1/k.
///
/// This is rejection sampling: first an octave e is drawn, then a rank k = 2^e + r within it, each
/// with probability 2^-e. The rank is accepted with probability 2^e / k. The product is exactly
/// proportional to 1/k, without logarithms, whose last bits differ between machines. Half to all of
/// the draws are accepted; the average is 1.44 draws. A draw takes one random word: 16 bits for the
/// octave, 19 for the rank, 29 for the acceptance.
#[inline]
fn zipf(source: Source, number: u128) -> u64 {
    let mut words = source.words(number);
    loop {
        let word = words.step();
        let octave = ((word >> 48) * OCTAVES) >> 16;
        let rank = 1 << octave | word >> 29 & ((1 << octave) - 1);
        let accept = word & ((1 << 29) - 1);
        if accept * rank < 1 << (29 + octave) {
            return rank;
        }
    }
}
