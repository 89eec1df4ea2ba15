//! Generating records: any range of a data set can be generated independently.
//!
//! A [`Generator`] has no state. Threads share it and fill blocks in any order. A record's bytes
//! depend only on the specification and its number.
//!
//! | ns a record, one thread | uniform | skewed | sorted | zipf |
//! |---|---|---|---|---|
//! | gensort | 5.2 | 9.1 | 7.9 | 23 |
//! | gensort-ascii | 23 | 32 | 32 | 57 |
//! | kv128 | 19 | | 21 | 38 |
//! | block4k | 1,210 | | 1,310 | 1,360 |
//!
//! Uniform records reach 19, 4.3, 6.8 and 3.4 GB/s (one core of a Xeon with AVX-512, November 2026;
//! `cargo bench` repeats it).

use crate::gensort_skew::Skew;
use crate::lcg::Lcg;
use crate::mix::{Purpose, Source};
use crate::pattern::{KeyChoice, KeyChooser};
use crate::{Format, Pattern, block4k, gensort, gensort_ascii, kv128};

/// The specification of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GenerateSpec {
    /// The format of the records.
    pub format: Format,
    /// True for the Sort Benchmark's skewed keys; gensort formats with [`Pattern::Uniform`] only.
    pub skewed: bool,
    /// The distribution of keys.
    pub pattern: Pattern,
    /// The number of the first record.
    pub start: u128,
    /// The seed. With 0, gensort formats equal the public generator's output byte for byte. Any
    /// other seed starts the same sequence of random numbers elsewhere, at `X(0)`, a 128-bit hash
    /// of the seed; record numbers don't change. The other formats hash the seed with each record's
    /// number.
    pub seed: u64,
    /// Total number of records, from `start` on. Sorted and reversed keys are spread over the range
    /// of keys by it. Records after it can't be generated.
    pub total: u64,
}

/// The error for an invalid specification; says what is possible instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Skewed keys for a format that has none.
    #[error(
        "{format} has no skewed keys: use gensort or gensort-ascii, or a pattern such as zipf or \
         heavy"
    )]
    SkewedFormat {
        /// The requested format.
        format: Format,
    },
    /// Skewed keys together with a pattern that would replace them.
    #[error("skewed keys and pattern {pattern} both set the key: use one of them")]
    SkewedPattern {
        /// The requested pattern.
        pattern: Pattern,
    },
    /// Record numbers that have more than 128 bits.
    #[error(
        "records {start} + {total} are beyond the last record number, 2^128 - 1: use a smaller \
         start"
    )]
    Numbers {
        /// The number of the first record.
        start: u128,
        /// The requested number of records.
        total: u64,
    },
}

/// Generates the records of one [`GenerateSpec`].
#[derive(Clone, Debug)]
pub struct Generator {
    spec: GenerateSpec,
    /// `X(0)` of gensort's sequence.
    origin: u128,
    skew: Option<Skew>,
    keys: KeyChooser,
    records: Source,
    shared_keys: Source,
}

impl Generator {
    /// Creates the generator of `spec`.
    ///
    /// # Errors
    /// If the format has no skewed keys, a pattern contradicts them, or record numbers would
    /// overflow.
    pub fn new(spec: GenerateSpec) -> Result<Generator, GenerateError> {
        let GenerateSpec { format, skewed, pattern, start, seed, total } = spec;
        if start.checked_add(u128::from(total)).is_none() {
            return Err(GenerateError::Numbers { start, total });
        }
        let origin = origin(seed);
        let skew = match format {
            _ if !skewed => None,
            _ if pattern != Pattern::Uniform => {
                return Err(GenerateError::SkewedPattern { pattern });
            }
            Format::Gensort => Some(Skew::new(origin, gensort::key)),
            Format::GensortAscii => Some(Skew::new(origin, gensort_ascii::key)),
            Format::Kv128 | Format::Block4k => return Err(GenerateError::SkewedFormat { format }),
        };
        Ok(Generator {
            spec,
            origin,
            skew,
            keys: KeyChooser::new(pattern, seed, start, total),
            records: Source::new(seed, Purpose::Record),
            shared_keys: Source::new(seed, Purpose::SharedKey),
        })
    }

    /// The specification.
    #[must_use]
    pub fn spec(&self) -> &GenerateSpec {
        &self.spec
    }

    /// Size of a record in bytes.
    #[must_use]
    pub fn record_bytes(&self) -> usize {
        self.spec.format.record_bytes()
    }

    /// Fills `out` with the records from `first` on, counted from the specification's start.
    ///
    /// # Panics
    /// If `out` isn't a whole number of records, or reaches past the specification's total.
    pub fn fill(&self, first: u64, out: &mut [u8]) {
        let record_bytes = self.record_bytes();
        assert!(
            out.len().is_multiple_of(record_bytes),
            "a block of whole records of {record_bytes} bytes"
        );
        let count = (out.len() / record_bytes) as u64;
        assert!(
            first.checked_add(count).is_some_and(|end| end <= self.spec.total),
            "records {first} + {count} are past the {} to be generated",
            self.spec.total
        );
        let number = self.spec.start + u128::from(first);
        match self.spec.format {
            Format::Gensort => {
                let numbers = Lcg::at(self.origin, number);
                gensort::fill(numbers, out);
                if let Some(skew) = &self.skew {
                    skew.apply(numbers, number, out);
                }
                self.set_keys(first, out, gensort::put_position, gensort::put_random);
            }
            Format::GensortAscii => {
                let numbers = Lcg::at(self.origin, number);
                gensort_ascii::fill(numbers, number, out);
                if let Some(skew) = &self.skew {
                    skew.apply_ascii(numbers, number, out);
                }
                self.set_keys(first, out, gensort_ascii::put_position, gensort_ascii::put_random);
            }
            Format::Kv128 => {
                kv128::fill(self.records, number, out);
                self.set_keys(first, out, kv128::put_position, kv128::put_random);
            }
            Format::Block4k => self.fill_blocks(first, out),
        }
    }

    /// Replaces the keys of the records from `first` on, according to the pattern.
    #[inline]
    fn set_keys<const BYTES: usize>(
        &self,
        first: u64,
        out: &mut [u8],
        put_position: impl Fn(&mut [u8; BYTES], u64),
        put_random: impl Fn(&mut [u8; BYTES], crate::mix::Words),
    ) {
        if self.spec.pattern == Pattern::Uniform {
            return;
        }
        // The numbers come second, so that zip doesn't count past the last one, which may be the
        // type's maximum.
        for (record, index) in out.as_chunks_mut::<BYTES>().0.iter_mut().zip(first..) {
            match self.keys.choose(index) {
                KeyChoice::Own => {}
                KeyChoice::Position(position) => put_position(record, position),
                KeyChoice::Shared(rank) => {
                    put_random(record, self.shared_keys.words(u128::from(rank)));
                }
            }
        }
    }

    /// Fills blocks from `first` on. The whole block is the key, so a shared key is a shared block.
    fn fill_blocks(&self, first: u64, out: &mut [u8]) {
        for (block, index) in
            out.as_chunks_mut::<{ block4k::RECORD_BYTES }>().0.iter_mut().zip(first..)
        {
            let own = self.records.words(self.spec.start + u128::from(index));
            match self.keys.choose(index) {
                KeyChoice::Own => block4k::fill(own, block),
                KeyChoice::Position(position) => {
                    block4k::fill(own, block);
                    block4k::put_position(block, position);
                }
                KeyChoice::Shared(rank) => {
                    block4k::fill(self.shared_keys.words(u128::from(rank)), block);
                }
            }
        }
    }
}

/// `X(0)` of gensort's sequence for a seed. Seed 0 gives 0, as in the public generator.
fn origin(seed: u64) -> u128 {
    if seed == 0 { 0 } else { Source::new(seed, Purpose::Origin).words(0).step_wide() }
}
