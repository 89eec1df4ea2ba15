//! Encodes keys and queries for URLs, and checksums for headers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::fmt::Write;

/// Encodes bytes as a signature requires it in a URL (RFC 3986): letters, digits, `-`, `.`, `_` and
/// `~` unchanged, all others as `%` and two digits.
fn encode(text: &str, is_plain: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Returns a key as the path of a URL.
pub(crate) fn path(key: &str) -> String {
    encode(key, |byte| byte == b'/')
}

/// Returns a query. An empty value is encoded as `NAME=`.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(&encode(name, |_| false));
        query.push('=');
        query.push_str(&encode(value, |_| false));
    }
    query
}

/// Decodes an encoded text. Returns `None` if it isn't one.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut pieces = text.split('%');
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// Returns a CRC-32 in the form used in headers.
pub(crate) fn checksum(crc: u32) -> String {
    BASE64_STANDARD.encode(crc.to_be_bytes())
}

/// Parses a CRC-32 from a header.
pub(crate) fn parse_checksum(text: &str) -> Option<u32> {
    parse_bytes(text).map(u32::from_be_bytes)
}

/// Parses the bytes of a checksum from a header.
pub(crate) fn parse_bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    BASE64_STANDARD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_key_stays_what_it_is() {
        assert_eq!(path("a b+c%20/ü~"), "a%20b%2Bc%2520/%C3%BC~");
        assert_eq!(path("//a/"), "//a/");
        assert_eq!(decode(&path("a b+c%20/ü~")).as_deref(), Some("a b+c%20/ü~"));
        assert_eq!((decode("%"), decode("%ü"), decode("%ff")), (None, None, None));
        assert_eq!(
            query(&[("uploads", ""), ("prefix", "a/b &=")]),
            "?uploads=&prefix=a%2Fb%20%26%3D"
        );
        assert_eq!(query(&[]), "");
    }

    #[test]
    fn checksums_travel_as_four_bytes() {
        assert_eq!(checksum(crc32fast::hash(b"hello")), "NhCmhg==");
        assert_eq!(parse_checksum("NhCmhg=="), Some(0x3610_a686));
        assert_eq!(parse_checksum("NhCmhg=="), Some(crc32fast::hash(b"hello")));
        assert_eq!((parse_checksum("NhCmhgAA"), parse_checksum("?")), (None, None));
    }
}
