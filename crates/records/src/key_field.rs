//! A field of a key: its position in the record, its type and its direction.

/// One field of a key; a [`crate::Layout`] has a list of them, the most significant first.
///
/// Written and read as `OFFSET:LENGTH[:TYPE][:desc]`, for instance `0:10`, `16:8:u64le:desc` or
/// `4:4:f32be`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyField {
    /// Offset of the field in the record, in bytes.
    pub offset: usize,
    /// Length of the field in bytes.
    pub length: usize,
    /// The type of the field.
    pub kind: KeyKind,
    /// True if greater values come first.
    pub descending: bool,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// A string of any length, compared as unsigned bytes from the first to the last.
    Bytes,
    /// An unsigned integer of 1, 2, 4, 8 or 16 bytes.
    Unsigned(Endian),
    /// A two's complement integer of 1, 2, 4, 8 or 16 bytes.
    Signed(Endian),
    /// An IEEE 754 number of 4 or 8 bytes in the total order of [`f64::total_cmp`]: negative NaN,
    /// negative infinity, negative numbers, -0, +0, positive numbers, infinity, NaN.
    Float(Endian),
    /// An IEEE 754 number of 2, 4 or 8 bytes, by its value: -0 equals +0. All NaNs are equal and
    /// come last in either direction.
    Number(Endian),
    /// A signed integer of 8 bytes, as in NumPy's dates and time spans. Its smallest value means a
    /// missing time, which comes last in either direction.
    Time(Endian),
}

/// The byte order of an integer. Single bytes are always [`Endian::Little`] when parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

impl KeyKind {
    /// The lengths in bytes that a field of this kind can have; `None` if any.
    #[must_use]
    pub const fn lengths(self) -> Option<&'static [usize]> {
        match self {
            KeyKind::Bytes => None,
            KeyKind::Unsigned(_) | KeyKind::Signed(_) => Some(&[1, 2, 4, 8, 16]),
            KeyKind::Float(_) => Some(&[4, 8]),
            KeyKind::Number(_) => Some(&[2, 4, 8]),
            KeyKind::Time(_) => Some(&[8]),
        }
    }
}
