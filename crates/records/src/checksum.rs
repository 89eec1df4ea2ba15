//! The multiset checksum of the Sort Benchmark: the sum of the records' CRC-32s.
//!
//! It does not depend on the records' order, and the sums of parts add up, so every thread can keep
//! its own. A sort's input and output have the same checksum. A lost, duplicated or changed record
//! changes it, except with a probability of about one in 2^32.
//!
//! The CRC is zlib's (polynomial 0x04C11DB7, reflected).

use std::fmt;

use crate::crc32;

/// The number of records, and the sum of their CRC-32s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checksum {
    records: u64,
    /// Can't overflow: 2^64 records below 2^32 each are below 2^96.
    sum: u128,
}

/// The error for a text that isn't a checksum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no checksum: write 1 to 32 hexadecimal digits, such as 1ea6370b955")]
pub struct ParseChecksumError {
    text: String,
}

impl Checksum {
    /// The checksum of `records` records whose CRC-32s add up to `sum`, as read from a summary.
    #[must_use]
    pub const fn from_parts(records: u64, sum: u128) -> Checksum {
        Checksum { records, sum }
    }

    /// Adds records of `record_bytes` bytes each.
    ///
    /// # Panics
    /// If `record_bytes` is zero, or the length of `records` is no multiple of it.
    pub fn add_records(&mut self, records: &[u8], record_bytes: usize) {
        assert!(record_bytes > 0, "a record has at least one byte");
        assert!(
            records.len().is_multiple_of(record_bytes),
            "{} bytes are no whole number of records of {record_bytes} bytes",
            records.len()
        );
        self.sum += crc32::sum(records, record_bytes);
        self.records += (records.len() / record_bytes) as u64;
    }

    /// Adds the records of another part of the data.
    pub fn merge(&mut self, other: Checksum) {
        self.records += other.records;
        self.sum += other.sum;
    }

    /// The number of records.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// The sum of the records' CRC-32s; at most `records() * (2^32 - 1)`.
    #[must_use]
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// Parses the sum as printed by [`fmt::Display`], gensort and valsort: up to 32 hexadecimal
    /// digits in either case, with or without `0x`. It doesn't include the number of records, so
    /// compare it with [`Checksum::sum`].
    ///
    /// # Errors
    /// If the text is anything else.
    pub fn parse_sum(text: &str) -> Result<u128, ParseChecksumError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let sum = if plain { u128::from_str_radix(digits, 16).ok() } else { None };
        sum.ok_or_else(|| ParseChecksumError { text: text.to_owned() })
    }
}

impl fmt::Display for Checksum {
    /// The sum in lower-case hexadecimal digits without leading zeros, as printed by gensort and
    /// valsort.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}", self.sum)
    }
}
