//! Parses sizes as people write them.
//!
//! `K`, `M`, `G`, `T`, `P` are powers of 1,024, as in GNU sort's `-S`, dd and head; so are `KiB`,
//! `MiB`, ... `kB`, `MB`, `GB`, ... are powers of 1,000, as drives and the Sort Benchmark count. A
//! bare number is bytes.

use std::num::NonZeroU64;
use std::str::FromStr;

/// The error for a text that is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SizeError(String);

/// The amount of data to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of bytes, rounded to whole records.
    Bytes(u64),
    /// A number of records.
    Records(u64),
}

impl FromStr for Amount {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Amount, SizeError> {
        match text.strip_suffix('r') {
            Some(count) => count.parse().map(Amount::Records).map_err(|_| {
                SizeError("a number of records is a whole number and an r, such as 1000000r".into())
            }),
            None => match bytes(text) {
                Ok(bytes) => Ok(Amount::Bytes(bytes)),
                Err(SizeError(reason)) => Err(SizeError(reason + ", or r for records (1000000r)")),
            },
        }
    }
}

/// The memory to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of the available memory, 1 to 100.
    Percent(u8),
}

impl From<u64> for Memory {
    /// Converts a number of bytes.
    fn from(bytes: u64) -> Memory {
        Memory::Bytes(bytes)
    }
}

impl FromStr for Memory {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Memory, SizeError> {
        match text.strip_suffix('%') {
            Some(percent) => match percent.parse() {
                Ok(percent @ 1..=100) => Ok(Memory::Percent(percent)),
                _ => Err(SizeError("a percentage is a whole number from 1% to 100%".into())),
            },
            None => bytes(text).map(Memory::Bytes),
        }
    }
}

/// What a builder takes as the memory: bytes, a text such as `"64M"`, or a [`Memory`].
pub trait IntoMemory {
    /// Converts it.
    ///
    /// # Errors
    /// If a text is no size and no percentage.
    fn into_memory(self) -> Result<Memory, SizeError>;
}

impl IntoMemory for Memory {
    fn into_memory(self) -> Result<Memory, SizeError> {
        Ok(self)
    }
}

impl IntoMemory for u64 {
    fn into_memory(self) -> Result<Memory, SizeError> {
        Ok(Memory::Bytes(self))
    }
}

impl IntoMemory for &str {
    fn into_memory(self) -> Result<Memory, SizeError> {
        self.parse()
    }
}

/// Parses a number of bytes: digits, possibly with a fraction, and a unit.
///
/// # Errors
/// If the text is not a size, or exceeds 2^64 - 1 bytes.
pub fn bytes(text: &str) -> Result<u64, SizeError> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, name) = text.split_at(digits);
    let no_size =
        || SizeError("a size is a number and a unit, such as 512M, 1.5GiB or 10GB".into());
    if number.is_empty() {
        return Err(no_size());
    }
    let unit = unit(name).ok_or_else(|| {
        SizeError(format!("unknown unit '{name}': use K, M, G, T (1024), KB, MB, GB, TB (1000)"))
    })?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let too_large = || SizeError("more than 2^64 bytes".into());
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(no_size());
    }
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    // Further digits would be less than a byte for all units up to a gigabyte.
    let fraction = &fraction[..fraction.len().min(9)];
    let parts =
        if fraction.is_empty() { 0 } else { fraction.parse::<u64>().map_err(|_| too_large())? };
    let fractional = u128::from(parts) * u128::from(unit) / 10u128.pow(fraction.len() as u32);
    u64::try_from(u128::from(whole) * u128::from(unit) + fractional).map_err(|_| too_large())
}

/// Parses a number of bytes per second: a size that isn't 0, with or without `/s` after it.
///
/// # Errors
/// The errors of [`bytes`], or if the size is 0.
pub fn rate(text: &str) -> Result<NonZeroU64, SizeError> {
    let bytes = bytes(text.strip_suffix("/s").unwrap_or(text))?;
    NonZeroU64::new(bytes)
        .ok_or_else(|| SizeError("at 0 bytes a second nothing is ever done".into()))
}

/// Returns the number of bytes in a unit.
fn unit(name: &str) -> Option<u64> {
    let name = name.to_ascii_uppercase();
    let Some(letter) = name.chars().next().filter(|_| name != "B") else { return Some(1) };
    let power = "KMGTP".find(letter)? as u32 + 1;
    match &name[letter.len_utf8()..] {
        "" | "IB" => Some(1024u64.pow(power)),
        "B" => Some(1000u64.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_gnu() {
        for (text, expected) in [
            ("0", 0),
            ("7", 7),
            ("7B", 7),
            ("1k", 1024),
            ("1K", 1024),
            ("1kB", 1000),
            ("1KB", 1000),
            ("1KiB", 1024),
            ("512M", 512 << 20),
            ("16G", 16 << 30),
            ("16GiB", 16 << 30),
            ("8GB", 8_000_000_000),
            ("1.5G", 3 << 29),
            ("0.1GB", 100_000_000),
            ("2T", 2 << 40),
            ("1PB", 1_000_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "",
            "G",
            "1X",
            "1GG",
            "1 G",
            "-1",
            "+1",
            ".5G",
            "1.G",
            "1..5G",
            "1.5.5",
            "1e9",
            "16EB",
            "1µ",
            "ééé",
            "99999999999999999999",
            "20000000000G",
            "0x10",
        ] {
            assert!(bytes(text).is_err(), "{text} -> {:?}", bytes(text));
        }
        let reason = bytes("data").unwrap_err().to_string();
        assert!(reason.starts_with("a size is a number and a unit"), "{reason}");
    }

    #[test]
    fn rates_are_sizes_by_the_second() {
        for text in ["200M", "200M/s", "200MiB/s"] {
            assert_eq!(rate(text).map(NonZeroU64::get), Ok(200 << 20), "{text}");
        }
        for text in ["0", "0/s", "0.1", "/s", "1/m", "1M/s/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_and_memory_have_their_own_units() {
        assert_eq!("1000000r".parse(), Ok(Amount::Records(1_000_000)));
        assert_eq!("10G".parse(), Ok(Amount::Bytes(10 << 30)));
        assert!("1.5r".parse::<Amount>().is_err());
        assert!("r".parse::<Amount>().is_err());
        assert!("-1r".parse::<Amount>().is_err());
        assert_eq!("50%".parse(), Ok(Memory::Percent(50)));
        assert_eq!("1G".parse(), Ok(Memory::Bytes(1 << 30)));
        for text in ["0%", "101%", "%", "1.5%", "-5%", "10r"] {
            assert!(text.parse::<Memory>().is_err(), "{text}");
        }
    }
}
