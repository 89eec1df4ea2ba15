//! Reads fields of a key, whose bytes [`KeyWriter`](super::KeyWriter) has written.

use super::encode::{CODE, KEY_END, TEXT_END, ZERO};

/// The byte that ends a descending text.
const DESCENDING_END: u8 = 0xff;

/// The bytes that [`KeyWriter::fixed`](super::KeyWriter::fixed) was given. It doesn't know where
/// they end.
#[derive(Clone, Debug)]
pub struct FixedBytes<'k> {
    keyed: &'k [u8],
    is_descending: bool,
    /// Bytes of the key that were read so far.
    pub taken: usize,
}

impl<'k> FixedBytes<'k> {
    /// The bytes of the field that `keyed` begins with.
    #[must_use]
    pub fn new(keyed: &'k [u8], is_descending: bool) -> FixedBytes<'k> {
        FixedBytes { keyed, is_descending, taken: 0 }
    }
}

impl Iterator for FixedBytes<'_> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let mut byte = *self.keyed.get(self.taken)?;
        self.taken += 1;
        if byte == CODE {
            byte = self.keyed.get(self.taken)?.wrapping_sub(ZERO);
            self.taken += 1;
        }
        Some(if self.is_descending { !byte } else { byte })
    }
}

/// Bytes of the text that `keyed` begins with, its end included.
#[must_use]
pub fn text_bytes(keyed: &[u8], is_descending: bool) -> usize {
    if is_descending {
        return memchr::memchr(DESCENDING_END, keyed).map_or(keyed.len(), |end| end + 1);
    }
    let mut from = 0;
    while let Some(at) = memchr::memchr(CODE, &keyed[from..]) {
        match keyed.get(from + at + 1) {
            Some(&(KEY_END | TEXT_END)) | None => return (from + at + 2).min(keyed.len()),
            Some(_) => from += at + 2,
        }
    }
    keyed.len()
}

#[cfg(test)]
mod tests {
    use super::super::encode::KeyWriter;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_are_read_as_they_were_written(
            fixed in proptest::collection::vec(any::<u8>(), 0..40),
            text in proptest::collection::vec(any::<u8>(), 0..40),
            is_descending: bool,
        ) {
            let mut out = Vec::new();
            let mut writer = KeyWriter { out: &mut out, is_descending };
            writer.fixed(&fixed);
            let fixed_end = writer.out.len();
            writer.text(&text);
            let text_end = writer.out.len();
            writer.fixed(&[0, 1, 254, 255]);
            let mut read = FixedBytes::new(&out, is_descending);
            prop_assert_eq!(read.by_ref().take(fixed.len()).collect::<Vec<u8>>(), fixed);
            prop_assert_eq!(read.taken, fixed_end);
            prop_assert_eq!(text_bytes(&out[fixed_end..], is_descending), text_end - fixed_end);
        }
    }
}
