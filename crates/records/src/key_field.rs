//! A field of a key: where it lies in the record, how its bytes are read, and which way it sorts.
//!
//! [`Integer`] reads the fixed-size kinds. Its match on width and byte order goes the same way for every record of a sort, so that it
//! costs a predicted branch.

/// One field of a key; a [`crate::Layout`] has a list of them, the most significant first.
///
/// Written and read as `OFFSET:LENGTH[:TYPE][:desc]`, for instance `0:10`, `16:8:u64le:desc` or `4:4:f32be`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyField {
    /// Where the field begins in the record, in bytes.
    pub offset: usize,
    /// The field's length in bytes.
    pub length: usize,
    /// How its bytes are read.
    pub kind: KeyKind,
    /// Whether greater values come first.
    pub descending: bool,
}

/// How the bytes of a field are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// A string of any length, compared as unsigned bytes from the first to the last.
    Bytes,
    /// An unsigned integer of 1, 2, 4, 8 or 16 bytes.
    Unsigned(Endian),
    /// A two's complement integer of 1, 2, 4, 8 or 16 bytes.
    Signed(Endian),
    /// An IEEE 754 number of 4 or 8 bytes in the total order of [`f64::total_cmp`]: negative NaN, negative infinity,
    /// negative numbers, -0, +0, positive numbers, infinity, NaN.
    Float(Endian),
}

/// The order of an integer's bytes. Single bytes are always [`Endian::Little`] when parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

impl KeyKind {
    /// The lengths in bytes that a field of this kind can have; `None` for any.
    #[must_use]
    pub const fn lengths(self) -> Option<&'static [usize]> {
        match self {
            KeyKind::Bytes => None,
            KeyKind::Unsigned(_) | KeyKind::Signed(_) => Some(&[1, 2, 4, 8, 16]),
            KeyKind::Float(_) => Some(&[4, 8]),
        }
    }
}

/// An integer in memory: its width in bytes and its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    One,
    Two(Endian),
    Four(Endian),
    Eight(Endian),
    Sixteen(Endian),
}

#[inline]
fn chunk<const N: usize>(record: &[u8], offset: usize) -> [u8; N] {
    *record[offset..].first_chunk().expect("the whole field lies inside the record")
}

impl Integer {
    pub(crate) const fn of_width(width: usize, endian: Endian) -> Option<Integer> {
        Some(match width {
            1 => Integer::One,
            2 => Integer::Two(endian),
            4 => Integer::Four(endian),
            8 => Integer::Eight(endian),
            16 => Integer::Sixteen(endian),
            _ => return None,
        })
    }

    pub(crate) fn with_endian(self, endian: Endian) -> Integer {
        match self {
            Integer::One => Integer::One,
            Integer::Two(_) => Integer::Two(endian),
            Integer::Four(_) => Integer::Four(endian),
            Integer::Eight(_) => Integer::Eight(endian),
            Integer::Sixteen(_) => Integer::Sixteen(endian),
        }
    }

    #[inline]
    pub(crate) const fn width(self) -> usize {
        match self {
            Integer::One => 1,
            Integer::Two(_) => 2,
            Integer::Four(_) => 4,
            Integer::Eight(_) => 8,
            Integer::Sixteen(_) => 16,
        }
    }

    /// The number at `offset` of `record`, as an unsigned one.
    #[inline]
    pub(crate) fn read(self, record: &[u8], offset: usize) -> u128 {
        use Endian::{Big, Little};
        match self {
            Integer::One => u128::from(record[offset]),
            Integer::Two(Little) => u128::from(u16::from_le_bytes(chunk(record, offset))),
            Integer::Two(Big) => u128::from(u16::from_be_bytes(chunk(record, offset))),
            Integer::Four(Little) => u128::from(u32::from_le_bytes(chunk(record, offset))),
            Integer::Four(Big) => u128::from(u32::from_be_bytes(chunk(record, offset))),
            Integer::Eight(Little) => u128::from(u64::from_le_bytes(chunk(record, offset))),
            Integer::Eight(Big) => u128::from(u64::from_be_bytes(chunk(record, offset))),
            Integer::Sixteen(Little) => u128::from_le_bytes(chunk(record, offset)),
            Integer::Sixteen(Big) => u128::from_be_bytes(chunk(record, offset)),
        }
    }

    /// The eight bytes from `at` on of `value` written big-endian in this width, zero past the end.
    /// Bits of `value` above the width are ignored.
    #[inline]
    pub(crate) fn word(self, value: u128, at: usize) -> u64 {
        if at >= self.width() {
            return 0;
        }
        let skipped_bytes = 16 - self.width() + at;
        (value << (8 * skipped_bytes) >> 64) as u64
    }

    /// Writes `value` big-endian to `out`, which is as long as the width.
    #[inline]
    pub(crate) fn write_big(self, value: u128, out: &mut [u8]) {
        out.copy_from_slice(&value.to_be_bytes()[16 - self.width()..]);
    }
}
