//! A field of a key: where it is in the record, how its bytes are read, and which way it sorts.

/// One field of a key; a [`crate::Layout`] has a list of them, the most significant first.
///
/// Written and read as `OFFSET:LENGTH[:TYPE][:desc]`, for instance `0:10`, `16:8:u64le:desc` or
/// `4:4:f32be`.
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
    /// An IEEE 754 number of 4 or 8 bytes in the total order of [`f64::total_cmp`]: negative NaN,
    /// negative infinity, negative numbers, -0, +0, positive numbers, infinity, NaN.
    Float(Endian),
    /// An IEEE 754 number of 2, 4 or 8 bytes by its value: -0 equals +0, and all NaNs are equal and
    /// come last, whichever way the field sorts.
    Number(Endian),
    /// A signed integer of 8 bytes whose least value stands for none, which comes last, whichever
    /// way the field sorts: NumPy's dates and spans of time.
    Time(Endian),
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
            KeyKind::Number(_) => Some(&[2, 4, 8]),
            KeyKind::Time(_) => Some(&[8]),
        }
    }
}
