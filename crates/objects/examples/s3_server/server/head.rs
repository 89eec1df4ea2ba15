//! The head of a request of HTTP/1.1.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

/// Longest head, in bytes: a key has 1,024 at most, three times as many if encoded.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// What a request says before its body.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// Path and query as they came.
    pub(crate) target: String,
    /// Decoded: `/BUCKET/KEY`.
    pub(crate) path: String,
    /// Decoded.
    pub(crate) query: BTreeMap<String, String>,
    /// By their names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
}

impl Head {
    /// Reads the next one; none if the connection ends before it.
    pub(crate) fn read(reader: impl BufRead) -> io::Result<Option<Head>> {
        let mut lines = reader.take(HEAD_BYTES_MAX).lines();
        let Some(first) = lines.next().transpose()? else { return Ok(None) };
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let mut words = first.split(' ').map(str::to_owned);
        let method = words.next().unwrap_or_default();
        let target = words.next().ok_or_else(broken)?;
        let mut headers = BTreeMap::new();
        loop {
            let line = lines.next().ok_or_else(broken)??;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| Some((decode(name)?, decode(value)?)))
            .collect::<Option<_>>()
            .ok_or_else(broken)?;
        let path = decode(path).ok_or_else(broken)?;
        Ok(Some(Head { method, target, path, query, headers }))
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Whether the query has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.query.contains_key(name)
    }

    /// A value of the query; empty if it isn't there.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }
}

/// Text in which bytes are written as `%` and two digits.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}
