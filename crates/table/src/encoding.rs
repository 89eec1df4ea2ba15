//! Recognises encodings whose characters have two or four bytes. Rows can't be found in such texts:
//! if one were sorted unchanged, it would be one row, or torn.

/// Bytes of a byte order mark that tell an encoding.
pub(crate) const MARK_BYTES: usize = 4;
/// Bytes that tell an encoding without a mark: two characters of four bytes, or four of two.
const WORDS_BYTES: usize = 8;

/// The encoding of a text that begins with `head`, by iconv's name, if its characters have two or
/// four bytes. The byte order mark tells it, or the zeros in the first characters.
pub(crate) fn wide_encoding(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => return Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Some("UTF-16"),
        _ => {}
    }
    let words = head.get(..WORDS_BYTES)?;
    let are = |bytes: usize, at: usize| {
        let is_character = |word: &[u8]| {
            let is_expected = |(place, &byte): (usize, &u8)| match place == at {
                true => matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'),
                false => byte == 0,
            };
            word.iter().enumerate().all(is_expected)
        };
        words.chunks(bytes).all(is_character)
    };
    let kinds = [(2, 0, "UTF-16LE"), (2, 1, "UTF-16BE"), (4, 0, "UTF-32LE"), (4, 3, "UTF-32BE")];
    kinds.into_iter().find(|&(bytes, at, _)| are(bytes, at)).map(|(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_are_known_by_a_mark_or_by_zeros() {
        let utf16 = |text: &str, to: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(to).collect()
        };
        let utf32 = |text: &str, to: fn(u32) -> [u8; 4]| -> Vec<u8> {
            text.chars().flat_map(|character| to(character as u32)).collect()
        };
        let marked = "\u{feff}id,\u{e9}\n";
        assert_eq!(wide_encoding(&utf16(marked, u16::to_le_bytes)), Some("UTF-16"));
        assert_eq!(wide_encoding(&utf16(marked, u16::to_be_bytes)), Some("UTF-16"));
        assert_eq!(wide_encoding(&utf32(marked, u32::to_le_bytes)), Some("UTF-32"));
        assert_eq!(wide_encoding(&utf32(marked, u32::to_be_bytes)), Some("UTF-32"));
        assert_eq!(wide_encoding(&utf16("id,n\n", u16::to_le_bytes)), Some("UTF-16LE"));
        assert_eq!(wide_encoding(&utf16("id,n\n", u16::to_be_bytes)), Some("UTF-16BE"));
        assert_eq!(wide_encoding(&utf32("a\n", u32::to_le_bytes)), Some("UTF-32LE"));
        assert_eq!(wide_encoding(&utf32("a\n", u32::to_be_bytes)), Some("UTF-32BE"));
        for text in [marked.as_bytes(), b"", b"a", b"id,name\n1,x\n", b"a\0b\0,\n1", &[0; 9]] {
            assert_eq!(wide_encoding(text), None, "{text:?}");
        }
    }
}
