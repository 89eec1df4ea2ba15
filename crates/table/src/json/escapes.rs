//! Decodes the escapes of strings.
//!
//! A string here is the text between the quotes of a valid one. Half a surrogate pair, which UTF-8
//! can't encode, becomes the three bytes it would have (WTF-8).

use memchr::memchr;

/// Appends a string without its escapes.
pub(crate) fn push_unescaped(out: &mut Vec<u8>, string: &[u8]) {
    pieces(string, |piece| out.extend_from_slice(piece));
}

/// True if a string without its escapes equals `plain`.
pub(crate) fn is_escape_of(string: &[u8], plain: &[u8]) -> bool {
    let mut rest = Some(plain);
    pieces(string, |piece| rest = rest.and_then(|rest| rest.strip_prefix(piece)));
    rest == Some(&[])
}

/// Passes a string without its escapes to `take`, piece by piece.
fn pieces(mut string: &[u8], mut take: impl FnMut(&[u8])) {
    while let Some(at) = memchr(b'\\', string) {
        take(&string[..at]);
        let (code_point, bytes) = escape(&string[at + 1..]);
        match char::from_u32(code_point) {
            Some(letter) => take(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            None => take(&[
                0xe0 | (code_point >> 12) as u8,
                0x80 | (code_point >> 6 & 0x3f) as u8,
                0x80 | (code_point & 0x3f) as u8,
            ]),
        }
        string = &string[at + 1 + bytes..];
    }
    take(string);
}

/// The code point of an escape, and its length after the backslash.
fn escape(text: &[u8]) -> (u32, usize) {
    let code_point = match text[0] {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => 0x0a,
        b'r' => 0x0d,
        b't' => 0x09,
        b'u' => return code_unit(text),
        itself => u32::from(itself),
    };
    (code_point, 1)
}

/// The code point of an escape `u` and four digits, with the second half of a surrogate pair if it
/// follows. Also returns its length after the backslash.
fn code_unit(text: &[u8]) -> (u32, usize) {
    let first = hexadecimal(&text[1..5]);
    if let 0xd800..0xdc00 = first
        && text.get(5..7) == Some(b"\\u")
        && let second @ 0xdc00..0xe000 = hexadecimal(&text[7..11])
    {
        return (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 11);
    }
    (first, 5)
}

fn hexadecimal(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum, &digit| sum << 4 | char::from(digit).to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_what_they_stand_for() {
        for (string, text) in [
            ("", &b""[..]),
            ("a", b"a"),
            (r#"\"\\\/\b\f\n\r\t"#, b"\"\\/\x08\x0c\n\r\t"),
            (r"a\u0000\u00e9b", b"a\0\xc3\xa9b"),
            (r"\uD83D\ude00!", "\u{1f600}!".as_bytes()),
            (r"\ud83d", b"\xed\xa0\xbd"),
            (r"\ud83dx", b"\xed\xa0\xbdx"),
            (r"\ude00\ud83d\u0041", b"\xed\xb8\x80\xed\xa0\xbdA"),
            (r"\ud83d\ud83d\ude00", b"\xed\xa0\xbd\xf0\x9f\x98\x80"),
            (r"\ud83d\n", b"\xed\xa0\xbd\n"),
        ] {
            let mut out = Vec::new();
            push_unescaped(&mut out, string.as_bytes());
            assert_eq!(out, text, "{string}");
            assert!(is_escape_of(string.as_bytes(), text));
            assert!(!is_escape_of(string.as_bytes(), &[text, b"x"].concat()));
            assert!(!is_escape_of(&[string.as_bytes(), b"x"].concat(), text));
        }
    }
}
