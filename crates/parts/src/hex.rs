//! Bytes and checksums as text in JSON.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use xsort_records::Checksum;

/// Bytes, written as two hexadecimal digits each.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hex(pub Vec<u8>);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
        let byte = |pair: &[u8]| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes = text.as_bytes().chunks(2).map(byte).collect::<Option<_>>();
        bytes.map(Hex).ok_or_else(|| D::Error::custom("pairs of hexadecimal digits are wanted"))
    }
}

/// The sum of a checksum, in the form in which [`Checksum`] displays it.
pub(crate) mod sum {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(sum: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Checksum::from_parts(0, *sum))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        Checksum::parse_sum(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_digits() {
        let bytes = Hex((0..=255).collect());
        let text = serde_json::to_string(&bytes).unwrap();
        assert!(text.starts_with("\"000102"), "{text}");
        assert_eq!(serde_json::from_str::<Hex>(&text).unwrap(), bytes);
        for wrong in ["\"0\"", "\"0g\"", "\"+1\"", "1"] {
            serde_json::from_str::<Hex>(wrong).unwrap_err();
        }
    }
}
