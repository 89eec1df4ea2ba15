//! The head of a request, as far as the server needs it.

use std::io::{self, BufRead, Read};

/// Maximum length of a head in bytes.
const HEAD_BYTES_MAX: u64 = 16 << 10;

/// The content of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) method: String,
    /// The path with its query, unchanged.
    pub(super) target: String,
    pub(super) range: Option<String>,
    pub(super) if_match: Option<String>,
    /// True if the client sends no further request on this connection.
    pub(super) is_last: bool,
    /// True if bytes follow the head.
    pub(super) has_body: bool,
}

impl Asked {
    /// Reads the next request; `None` if the connection ends first.
    pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Asked>> {
        let mut lines = reader.take(HEAD_BYTES_MAX).lines();
        let Some(first) = lines.next().transpose()? else { return Ok(None) };
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let words: Vec<&str> = first.split(' ').collect();
        let [method, target, version] = words[..] else { return Err(broken()) };
        let mut asked = Asked {
            method: method.to_owned(),
            target: target.to_owned(),
            is_last: version != "HTTP/1.1",
            ..Asked::default()
        };
        loop {
            let line = lines.next().ok_or_else(broken)??;
            if line.is_empty() {
                return Ok(Some(asked));
            }
            let (name, value) = line.split_once(':').ok_or_else(broken)?;
            let value = value.trim();
            match &*name.to_ascii_lowercase() {
                "range" => asked.range = Some(value.to_owned()),
                "if-match" => asked.if_match = Some(value.to_owned()),
                "connection" => asked.is_last |= value.eq_ignore_ascii_case("close"),
                "content-length" => asked.has_body |= value != "0",
                "transfer-encoding" => asked.has_body = true,
                _ => {}
            }
        }
    }
}

/// Returns the range of `bytes` bytes that a header requests: the offset of its first byte and the
/// offset after its last. `None` if the header doesn't request a supported range, an error if there
/// are no such bytes.
pub(super) fn range_of(header: Option<&str>, bytes: u64) -> Result<Option<(u64, u64)>, ()> {
    let Some((first, last)) = header
        .and_then(|text| text.strip_prefix("bytes="))
        .filter(|text| !text.contains(','))
        .and_then(|text| text.split_once('-'))
    else {
        return Ok(None);
    };
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (begin, end) = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1).min(bytes)),
        (Some(first), None) if last.is_empty() => (first, bytes),
        (None, Some(length)) if first.is_empty() => (bytes.saturating_sub(length), bytes),
        _ => return Ok(None),
    };
    if begin < end { Ok(Some((begin, end))) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Option<Asked>> {
        Asked::read(&mut text.as_bytes())
    }

    #[test]
    fn a_head_is_read() {
        let text = "GET /a HTTP/1.1\r\nHost: x\r\nRANGE: bytes=1-2\r\nIf-Match: \"t\"\r\n\r\nrest";
        let asked = read(text).unwrap().unwrap();
        assert_eq!((&*asked.method, &*asked.target), ("GET", "/a"));
        assert_eq!(asked.range.as_deref(), Some("bytes=1-2"));
        assert_eq!(asked.if_match.as_deref(), Some("\"t\""));
        assert!(!asked.is_last && !asked.has_body);
        assert!(read("GET / HTTP/1.0\r\n\r\n").unwrap().unwrap().is_last);
        assert!(read("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").unwrap().unwrap().is_last);
        assert!(read("PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\n").unwrap().unwrap().has_body);
        assert_eq!(read("").unwrap(), None);
    }

    #[test]
    fn a_broken_head_is_an_error() {
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(20_000));
        for text in ["GET\r\n\r\n", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nx\r\n\r\n", &long] {
            read(text).unwrap_err();
        }
    }

    #[test]
    fn ranges() {
        let range = |text| range_of(Some(text), 100);
        assert_eq!(range("bytes=0-9"), Ok(Some((0, 10))));
        assert_eq!(range("bytes=90-200"), Ok(Some((90, 100))));
        assert_eq!(range("bytes=90-"), Ok(Some((90, 100))));
        assert_eq!(range("bytes=-5"), Ok(Some((95, 100))));
        assert_eq!(range("bytes=-500"), Ok(Some((0, 100))));
        assert_eq!(range("bytes=100-"), Err(()));
        assert_eq!(range("bytes=-0"), Err(()));
        assert_eq!(range_of(Some("bytes=0-0"), 0), Err(()));
        for text in ["bytes=5-4", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b", "bytes=-", "x"] {
            assert_eq!(range(text), Ok(None), "{text}");
        }
        assert_eq!(range("bytes=5-99999999999999999999999"), Ok(Some((5, 100))));
    }
}
