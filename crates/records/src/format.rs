//! The named formats: the generator's formats, whose layout is known from the name.

use std::fmt;
use std::str::FromStr;

use crate::{Endian, KeyField, KeyKind, Layout};

/// A named format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The Sort Benchmark's binary record: 100 bytes, of which the first 10 are the key.
    Gensort,
    /// The Sort Benchmark's printable record: 100 bytes, of which the first 10 are the key, ending
    /// in CR LF.
    GensortAscii,
    /// 128 bytes: an unsigned little-endian key of 16 bytes and 112 bytes of payload.
    Kv128,
    /// Blocks of 4,096 alphanumeric characters, compared whole.
    Block4k,
}

/// The error for a name that isn't a format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format '{name}': use gensort, gensort-ascii, kv128 or block4k")]
pub struct UnknownFormat {
    name: String,
}

impl Format {
    /// All formats, in the order in which a help text lists them.
    #[must_use]
    pub const fn all() -> &'static [Format] {
        &[Format::Gensort, Format::GensortAscii, Format::Kv128, Format::Block4k]
    }

    /// The name, as parsed and printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Gensort => "gensort",
            Format::GensortAscii => "gensort-ascii",
            Format::Kv128 => "kv128",
            Format::Block4k => "block4k",
        }
    }

    /// A description of one line for a help text.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Format::Gensort => "100-byte binary records of the Sort Benchmark, a 10-byte key first",
            Format::GensortAscii => {
                "100-byte printable records of the Sort Benchmark, one a line, a 10-byte key first"
            }
            Format::Kv128 => "128-byte records, a 16-byte little-endian unsigned key first",
            Format::Block4k => "4,096-byte blocks of letters and digits, compared whole",
        }
    }

    /// Size of a record in bytes.
    #[must_use]
    pub const fn record_bytes(self) -> usize {
        match self {
            Format::Gensort | Format::GensortAscii => 100,
            Format::Kv128 => 128,
            Format::Block4k => 4096,
        }
    }

    /// The layout of the format's records.
    #[must_use]
    pub fn layout(self) -> Layout {
        let (length, kind) = match self {
            Format::Gensort | Format::GensortAscii => (10, KeyKind::Bytes),
            Format::Kv128 => (16, KeyKind::Unsigned(Endian::Little)),
            Format::Block4k => (4096, KeyKind::Bytes),
        };
        let field = KeyField { offset: 0, length, kind, descending: false };
        Layout::new(self.record_bytes(), vec![field])
            .expect("the layout of a named format is valid")
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let found = Format::all().iter().find(|format| format.name() == name);
        found.copied().ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}
