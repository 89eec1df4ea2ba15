//! A value as text, for typed keys: numbers, dates and all other types of columns.

use super::escapes::push_unescaped;

/// A value in the form that typed keys take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonValue<'v> {
    /// No value.
    Null,
    /// A string, without quotes and escapes. It is UTF-8, except for halves of surrogate pairs.
    Text(&'v [u8]),
    /// A number, true or false, as written.
    Scalar(&'v [u8]),
    /// An array or an object, which is of no type.
    Nested,
}

/// Converts a value found by [`Paths::find`](super::Paths::find). `buffer` is memory for a string
/// with escapes.
pub(crate) fn json_text<'v>(value: &'v [u8], buffer: &'v mut Vec<u8>) -> JsonValue<'v> {
    match value {
        b"null" => JsonValue::Null,
        [b'{' | b'[', ..] => JsonValue::Nested,
        [b'"', string @ .., b'"'] => JsonValue::Text(plain(string, buffer)),
        _ => JsonValue::Scalar(value),
    }
}

/// A string without its escapes.
pub(crate) fn plain<'s>(string: &'s [u8], buffer: &'s mut Vec<u8>) -> &'s [u8] {
    if memchr::memchr(b'\\', string).is_none() {
        return string;
    }
    buffer.clear();
    push_unescaped(buffer, string);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_texts() {
        for (value, expected) in [
            ("null", JsonValue::Null),
            ("true", JsonValue::Scalar(b"true")),
            ("-1.50e+3", JsonValue::Scalar(b"-1.50e+3")),
            (r#""""#, JsonValue::Text(b"")),
            (r#""null""#, JsonValue::Text(b"null")),
            (r#""a\"\u0062""#, JsonValue::Text(b"a\"b")),
            ("[1]", JsonValue::Nested),
            ("{}", JsonValue::Nested),
        ] {
            assert_eq!(json_text(value.as_bytes(), &mut b"old".to_vec()), expected);
        }
    }
}
