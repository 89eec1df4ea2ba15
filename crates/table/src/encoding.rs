//! Recognises encodings whose characters have two or four bytes. Rows can't be found in such texts:
//! if one were sorted unchanged, it would be one row, or torn.

/// Bytes of a byte order mark that tell an encoding.
pub(crate) const MARK_BYTES: usize = 4;

/// The byte order mark of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes that tell an encoding by its first characters: two of four bytes, or four of two.
const WORDS_BYTES: usize = 8;

/// A byte order of characters that have two or four bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    LittleEndian,
    BigEndian,
}

/// The encoding of a text, in iconv's words, if its characters have two or four bytes. `head` is
/// its beginning, as much as was read. A byte order mark tells the encoding, or else the zeros
/// among the first characters, or else that all of `head` is text with line ends in that encoding
/// and isn't in UTF-8.
pub(crate) fn wide_encoding(head: &[u8]) -> Option<&'static str> {
    use ByteOrder::{BigEndian, LittleEndian};
    match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => return Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Some("UTF-16"),
        [0xef, 0xbb, 0xbf, ..] => return None,
        _ => {}
    }
    // Line ends and the delimiters of fields are ASCII, and have zeros in all these encodings.
    let words = head.get(..WORDS_BYTES).filter(|_| head.contains(&0))?;
    if is_utf32(head, LittleEndian) {
        Some("UTF-32LE")
    } else if is_utf32(head, BigEndian) {
        Some("UTF-32BE")
    } else if is_ascii_in_utf16(words, LittleEndian) || is_utf16(head, LittleEndian) {
        Some("UTF-16LE")
    } else if is_ascii_in_utf16(words, BigEndian) || is_utf16(head, BigEndian) {
        Some("UTF-16BE")
    } else {
        None
    }
}

/// Whether a text of which this much was read may be of such an encoding, and more of it would
/// tell: no line ended yet, or there are zeros.
pub(crate) fn may_be_wide(head: &[u8]) -> bool {
    !head.contains(&b'\n') || head.contains(&0)
}

/// Whether all characters of a text are of four bytes. The upper two of each hold almost nothing,
/// so that no other text looks like it.
fn is_utf32(text: &[u8], order: ByteOrder) -> bool {
    text.as_chunks().0.iter().all(|&word| {
        char::from_u32(match order {
            ByteOrder::LittleEndian => u32::from_le_bytes(word),
            ByteOrder::BigEndian => u32::from_be_bytes(word),
        })
        .is_some_and(is_textual)
    })
}

/// Whether these bytes are characters of ASCII, of two bytes each.
fn is_ascii_in_utf16(text: &[u8], order: ByteOrder) -> bool {
    units(text, order).all(|unit| u8::try_from(unit).is_ok_and(|byte| is_textual(byte.into())))
}

/// At least one in `ASCII_SHARE` characters of a table is a delimiter, a digit or a line end.
const ASCII_SHARE: usize = 8;

/// Whether a text is of characters of two bytes (or twice two), with a line end. Text of other
/// encodings with zeros in it may be such characters, too, but most of its line ends are halves of
/// others; or it has few zeros, or nothing that UTF-8 can't have.
fn is_utf16(text: &[u8], order: ByteOrder) -> bool {
    let mut characters = char::decode_utf16(units(text, order)).peekable();
    let (mut line_ends, mut ascii) = (0, 0);
    while let Some(character) = characters.next() {
        match character {
            Ok(character) if is_textual(character) => {
                line_ends += usize::from(character == '\n');
                ascii += usize::from(character.is_ascii());
            }
            // The half of a character, of which more will be read.
            Err(half) if half.unpaired_surrogate() < 0xdc00 && characters.peek().is_none() => {}
            Ok(_) | Err(_) => return false,
        }
    }
    let whole = &text[..text.len() / 2 * 2];
    let ends = memchr::memchr_iter(b'\n', whole).count();
    let has_zeros = || ASCII_SHARE * ascii >= whole.len() / 2 && !may_be_utf8(text);
    line_ends > 0 && (2 * line_ends > ends || has_zeros())
}

/// Characters of two bytes each, or halves of them.
fn units(text: &[u8], order: ByteOrder) -> impl Iterator<Item = u16> {
    text.as_chunks().0.iter().map(move |&unit| match order {
        ByteOrder::LittleEndian => u16::from_le_bytes(unit),
        ByteOrder::BigEndian => u16::from_be_bytes(unit),
    })
}

/// Whether texts have this character.
fn is_textual(character: char) -> bool {
    let is_nonexistent = u32::from(character) & 0xfffe == 0xfffe;
    matches!(character, '\t' | '\r' | '\n') || !(character.is_control() || is_nonexistent)
}

/// Whether a text may be in UTF-8: its bytes are, but for a last character that is cut off, and
/// no other control characters than zeros are among them.
fn may_be_utf8(text: &[u8]) -> bool {
    let is_valid = match std::str::from_utf8(text) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    let is_known = |byte: &u8| *byte >= b' ' || matches!(byte, 0 | 7..=13 | 0x1b);
    is_valid && text.iter().all(is_known)
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

    /// Only the first characters were looked at, which had to be ASCII: other texts were torn.
    #[test]
    fn wide_characters_of_any_script_are_known_without_a_mark() {
        let texts = [
            "\u{e9}t\u{e9},n\n2,b\n1,a\n",
            "\u{438}\u{43c}\u{44f},n\r\n\u{431},1\r\n",
            "\u{3042},\u{3044}\n",
            "\u{4e00},\u{540d}\u{524d}\n\u{4e00}\u{4e00},2\n",
            "\u{a05},\u{a0a}\u{a0d}\n\u{a0a},2\n",
            "\u{ac00},b\n\u{1f600},2\n",
            "\u{10a},\u{a0a}\n1,\u{40a}\n",
        ];
        for text in texts {
            let utf16: Vec<u16> = text.encode_utf16().collect();
            let utf32: Vec<u32> = text.chars().map(u32::from).collect();
            let kinds: [(&str, Vec<u8>); 4] = [
                ("UTF-16LE", utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
                ("UTF-16BE", utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
                ("UTF-32LE", utf32.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
                ("UTF-32BE", utf32.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
            ];
            for (name, bytes) in kinds {
                assert_eq!(wide_encoding(&bytes), Some(name), "{text:?}");
                assert!(may_be_wide(&bytes));
                // A read ends anywhere, also within a character.
                let long = [&bytes[..], &bytes].concat();
                for end in bytes.len()..long.len() {
                    assert_eq!(wide_encoding(&long[..end]), Some(name), "{text:?} {end}");
                }
            }
            assert_eq!(wide_encoding(text.as_bytes()), None);
            assert!(!may_be_wide(text.as_bytes()));
        }
    }

    /// Zeros in fields are data.
    #[test]
    fn text_with_zeros_is_not_of_wide_characters() {
        for text in [
            &b"id,x\n1,\0\n2,\0\0\n"[..],
            b"\0a,b\n\0c,d\n",
            b"ab\n\0c\n",
            b"a\n\0b\nc\n",
            b"abc\n\0def\n\0\n",
            "\u{e9}\n\0\u{e9}\n\u{e9}\0\n".as_bytes(),
            b"\xef\xbb\xbfa\n\0\xfe\xff\n\0",
            b"one,\xe9t\xe9\n\0three,f\xf6r\nfive,s\xe9x\nseven,a\xdft\n",
        ] {
            assert_eq!(wide_encoding(text), None, "{text:?}");
        }
    }
}
