//! The prefixes of records of varying length: the number of bytes that follow.
//!
//! ```text
//!  prefixed:u16le   | 03 00 | a b c | 01 00 | d | 00 00 |            three records, the last empty
//!  prefixed:varint  | 03 | a b c | ac 02 | 300 bytes                 as in protobuf's streams
//! ```
//!
//! A varint is unsigned LEB128: seven bits a byte, the lowest first, and bit 0x80 set in all
//! except the last. It may be longer than its value needs, up to ten bytes.

use crate::Endian;
use std::fmt;
use std::str::FromStr;

/// The encoding of the length before a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// One byte.
    U8,
    /// Two bytes.
    U16(Endian),
    /// Four bytes.
    U32(Endian),
    /// Eight bytes.
    U64(Endian),
    /// One to ten bytes.
    Varint,
}

/// The error for a name that isn't a prefix's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no prefix '{name}': write prefixed: and u8, u16le, u16be, u32le, u32be, u64le, \
     u64be or varint"
)]
pub struct UnknownPrefix {
    name: String,
}

/// The error for bytes that aren't a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPrefix {
    /// A varint whose tenth byte isn't the last.
    #[error("is a varint of more than 10 bytes")]
    LongVarint,
    /// A varint that doesn't fit 64 bits.
    #[error("is a varint beyond 64 bits")]
    LargeVarint,
}

/// Maximum size of a varint in bytes.
const VARINT_BYTES_MAX: usize = 10;
/// The text before a prefix's name on the command line.
const MARK: &str = "prefixed:";

impl Prefix {
    /// All prefixes, in the order in which a help text lists them.
    #[must_use]
    pub const fn all() -> &'static [Prefix] {
        use Endian::{Big, Little};
        &[
            Prefix::U8,
            Prefix::U16(Little),
            Prefix::U16(Big),
            Prefix::U32(Little),
            Prefix::U32(Big),
            Prefix::U64(Little),
            Prefix::U64(Big),
            Prefix::Varint,
        ]
    }

    const fn name(self) -> &'static str {
        match self {
            Prefix::U8 => "u8",
            Prefix::U16(Endian::Little) => "u16le",
            Prefix::U16(Endian::Big) => "u16be",
            Prefix::U32(Endian::Little) => "u32le",
            Prefix::U32(Endian::Big) => "u32be",
            Prefix::U64(Endian::Little) => "u64le",
            Prefix::U64(Endian::Big) => "u64be",
            Prefix::Varint => "varint",
        }
    }

    /// Reads the prefix at the beginning of `bytes`. Returns the size of the prefix, and the number
    /// of bytes that follow it. `None` if the prefix is incomplete.
    ///
    /// # Errors
    /// If no bytes after `bytes` can make it a length.
    #[inline]
    pub fn read(self, bytes: &[u8]) -> Result<Option<(usize, u64)>, BadPrefix> {
        let number = |own: usize, endian: Endian| {
            let prefix = bytes.get(..own)?;
            let mut wide = [0; 8];
            let length = match endian {
                Endian::Little => {
                    wide[..own].copy_from_slice(prefix);
                    u64::from_le_bytes(wide)
                }
                Endian::Big => {
                    wide[8 - own..].copy_from_slice(prefix);
                    u64::from_be_bytes(wide)
                }
            };
            Some((own, length))
        };
        Ok(match self {
            Prefix::U8 => number(1, Endian::Little),
            Prefix::U16(endian) => number(2, endian),
            Prefix::U32(endian) => number(4, endian),
            Prefix::U64(endian) => number(8, endian),
            Prefix::Varint => return read_varint(bytes),
        })
    }
}

fn read_varint(bytes: &[u8]) -> Result<Option<(usize, u64)>, BadPrefix> {
    let mut length = 0;
    for (at, &byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        let is_last = byte < 0x80;
        if at + 1 == VARINT_BYTES_MAX && byte > 1 {
            return Err(if is_last { BadPrefix::LargeVarint } else { BadPrefix::LongVarint });
        }
        length |= u64::from(byte & 0x7f) << (7 * at);
        if is_last {
            return Ok(Some((at + 1, length)));
        }
    }
    Ok(None)
}

impl FromStr for Prefix {
    type Err = UnknownPrefix;

    /// Parses `prefixed:NAME`.
    fn from_str(text: &str) -> Result<Prefix, UnknownPrefix> {
        let name = text.strip_prefix(MARK).unwrap_or_default();
        let found = Prefix::all().iter().find(|prefix| prefix.name() == name);
        found.copied().ok_or_else(|| {
            let name = text.strip_prefix(MARK).unwrap_or(text).to_owned();
            UnknownPrefix { name }
        })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{MARK}{}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Encodes a prefix as a writer of records would; `None` if it can't encode `length`.
    fn written(prefix: Prefix, length: u64) -> Option<Vec<u8>> {
        let little = |own: usize| {
            let fits = own == 8 || length >> (8 * own) == 0;
            fits.then(|| length.to_le_bytes()[..own].to_vec())
        };
        let turned = |endian: Endian, bytes: Vec<u8>| match endian {
            Endian::Little => bytes,
            Endian::Big => bytes.into_iter().rev().collect(),
        };
        match prefix {
            Prefix::U8 => little(1),
            Prefix::U16(endian) => little(2).map(|bytes| turned(endian, bytes)),
            Prefix::U32(endian) => little(4).map(|bytes| turned(endian, bytes)),
            Prefix::U64(endian) => little(8).map(|bytes| turned(endian, bytes)),
            Prefix::Varint => {
                let (mut out, mut rest) = (Vec::new(), length);
                while rest > 0x7f {
                    out.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                out.push(rest as u8);
                Some(out)
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            which in 0..8usize, bits in 0..64u32, any: u64, behind: Vec<u8>,
        ) {
            let (prefix, length) = (Prefix::all()[which], any >> bits);
            let Some(own) = written(prefix, length) else { return Ok(()) };
            let whole = [&own[..], &behind].concat();
            prop_assert_eq!(prefix.read(&whole), Ok(Some((own.len(), length))));
            for cut in 0..own.len() {
                prop_assert_eq!(prefix.read(&own[..cut]), Ok(None));
            }
        }

        #[test]
        fn a_varint_may_be_longer_than_it_has_to(any: u64, bits in 0..64u32, zeros in 1..10usize) {
            let length = any >> bits;
            let mut own = written(Prefix::Varint, length).unwrap();
            let zeros = zeros.min(10 - own.len());
            for _ in 0..zeros {
                *own.last_mut().unwrap() |= 0x80;
                own.push(0);
            }
            prop_assert_eq!(Prefix::Varint.read(&own), Ok(Some((own.len(), length))));
        }
    }

    #[test]
    fn varints_end_and_fit_64_bits() {
        let read = |last: u8| Prefix::Varint.read(&[&[0xff; 9][..], &[last, 0]].concat());
        assert_eq!(read(1), Ok(Some((10, u64::MAX))));
        assert_eq!(read(2), Err(BadPrefix::LargeVarint));
        assert_eq!(read(0x80), Err(BadPrefix::LongVarint));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for &prefix in Prefix::all() {
            assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }
        for text in ["u8", "prefixed", "prefixed:", "prefixed:u16", "prefixed:u8le"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
