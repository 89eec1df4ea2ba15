//! Keys of typed fields: bytes that compare in the order of the fields.

/// Builds keys of typed fields for a [`Sorter`](crate::Sorter). The first field decides, then the
/// second, and so on. A field is ascending unless [`descending`](SortKey::descending) is called
/// before it.
///
/// ```
/// # fn main() -> Result<(), xsort::Error> {
/// use xsort::{SortKey, Sorter};
///
/// let mut key = SortKey::new();
/// let mut sorting = Sorter::new().memory(64 << 20).start()?;
/// for (town, degrees) in [("Oslo", -3.5), ("Bergen", 4.0), ("Oslo", 11.0)] {
///     key.clear().text(town).descending().f64(degrees);
///     sorting.push(&key, format!("{town} {degrees}"))?;
/// }
/// let mut sorted = sorting.finish()?;
/// let mut rows = Vec::new();
/// while let Some((_, row)) = sorted.next()? {
///     rows.push(String::from_utf8_lossy(row).into_owned());
/// }
/// assert_eq!(rows, ["Bergen 4", "Oslo 11", "Oslo -3.5"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey {
    bytes: Vec<u8>,
    is_descending: bool,
}

impl SortKey {
    /// Creates a key without fields.
    pub fn new() -> SortKey {
        SortKey::default()
    }

    /// Removes all fields. The key's memory is used again.
    pub fn clear(&mut self) -> &mut SortKey {
        self.bytes.clear();
        self.is_descending = false;
        self
    }

    /// Makes the next field descending.
    pub fn descending(&mut self) -> &mut SortKey {
        self.is_descending = true;
        self
    }

    /// Appends an unsigned number.
    pub fn u64(&mut self, number: u64) -> &mut SortKey {
        self.field(number.to_be_bytes())
    }

    /// Appends a signed number.
    pub fn i64(&mut self, number: i64) -> &mut SortKey {
        self.u64(number.cast_unsigned() ^ (1 << 63))
    }

    /// Appends a floating-point number, in the order of [`f64::total_cmp`].
    pub fn f64(&mut self, number: f64) -> &mut SortKey {
        let bits = number.to_bits().cast_signed();
        // The order of negative numbers is reversed.
        self.i64(bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed())
    }

    /// Appends text, or bytes of any length, compared by bytes.
    pub fn text(&mut self, text: impl AsRef<[u8]>) -> &mut SortKey {
        // 00 ff stands for a zero byte, and 00 00 for the end, which precedes everything else.
        let codes = text.as_ref().iter().flat_map(|&byte| {
            let code = (byte == 0).then_some(0xff);
            [Some(byte), code].into_iter().flatten()
        });
        self.field(codes.chain([0, 0]))
    }

    fn field(&mut self, bytes: impl IntoIterator<Item = u8>) -> &mut SortKey {
        let turn = if std::mem::take(&mut self.is_descending) { 0xff } else { 0 };
        self.bytes.extend(bytes.into_iter().map(|byte| byte ^ turn));
        self
    }
}

impl AsRef<[u8]> for SortKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
