//! Finds out which paths are URLs, and hides the secrets of URLs in messages, reports and shared
//! memory.
//!
//! A path is a URL if it begins like one, whatever files exist: a command's meaning must not depend
//! on existing files. To name such a file, write `./s3://bucket/key`.
//!
//! Hidden are the user and the password before a host. Of a web server's URL, all values of its
//! query are hidden: signatures, tokens and keys have many names there (`X-Amz-Signature`, `sig`,
//! `token`). In the key of a store's object, `?` and `&` are ordinary characters, so only the
//! values of names that signatures use are hidden.
//!
//! Also hidden is the token at the beginning of the paths of a server of sorted slices. A token
//! that xsort generated is recognised by its form. A token that the user chose may look like the
//! name of a directory, so it is recognised by the name that follows: such a server has slices and
//! lists of parts only.
//!
//! The result is only for display: the URL can't be restored from it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The beginnings of URLs of object stores and web servers.
const SCHEMES: [&str; 5] = ["s3://", "gs://", "az://", "https://", "http://"];

/// Returns whether a path is the URL of an object or a prefix of objects, not a name in the file
/// system.
pub fn is_url(path: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    SCHEMES.iter().any(|scheme| path.starts_with(scheme.as_bytes()))
}

/// Replaces a secret.
const HIDDEN: &str = "***";

/// Minimum length in bytes of the token of a server of slices.
const TOKEN_BYTES_MIN: usize = 16;

/// Number of hexadecimal digits of a token that the server generated.
const MADE_TOKEN_DIGITS: usize = 32;

/// Returns whether a name may follow a token: a file of a slice, or a list of parts.
fn is_served(name: &str) -> bool {
    name.starts_with("slice-") || name == "parts"
}

/// Names of query parameters whose values are secrets, or parts of one, in lower case.
const SECRET_NAMES: [&str; 14] = [
    "awsaccesskeyid",
    "googleaccessid",
    "sig",
    "signature",
    "token",
    "x-amz-credential",
    "x-amz-security-token",
    "x-amz-signature",
    "x-goog-credential",
    "x-goog-security-token",
    "x-goog-signature",
    "access_token",
    "key-pair-id",
    "policy",
];

/// Returns a path for display: a URL without its secrets, any other path unchanged.
pub fn public_path(path: &Path) -> Cow<'_, Path> {
    // `HTTPS://` and `ftp://` are file names here, but users may still type them with secrets.
    if !has_scheme(path) {
        return Cow::Borrowed(path);
    }
    // A path that is not UTF-8 is no URL that can be requested.
    let url = String::from_utf8_lossy(path.as_os_str().as_bytes());
    match public_url(&url) {
        Cow::Borrowed(_) => Cow::Borrowed(path),
        Cow::Owned(public) => Cow::Owned(OsStr::new(&public).into()),
    }
}

/// Returns whether a path begins like a URL with any scheme.
fn has_scheme(path: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let bytes = path.iter().take_while(|byte| is_of_scheme(byte)).count();
    path.first().is_some_and(u8::is_ascii_alphabetic) && path[bytes..].starts_with(b"://")
}

/// Returns a text with the secrets of all URLs in it hidden.
pub fn public_text(text: &str) -> Cow<'_, str> {
    let mut public = String::new();
    let mut rest = text;
    while let Some(at) = next_url(rest) {
        let (before, from) = rest.split_at(at);
        let (url, after) = from.split_at(url_bytes(from));
        public += before;
        public += &public_url(url);
        rest = after;
    }
    match public.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(public + rest),
    }
}

/// Returns the bytes of a text, which need not be UTF-8, with the secrets of all URLs in it hidden.
pub fn public_bytes(text: &[u8]) -> Cow<'_, [u8]> {
    if let Ok(text) = std::str::from_utf8(text) {
        return match public_text(text) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(public) => Cow::Owned(public.into_bytes()),
        };
    }
    // Maps each byte to the character with its code, and back.
    let characters: String = text.iter().map(|&byte| char::from(byte)).collect();
    let public = public_text(&characters).into_owned();
    Cow::Owned(public.chars().filter_map(|character| u8::try_from(character).ok()).collect())
}

/// Returns the offset of the next URL.
fn next_url(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    SCHEMES.iter().filter_map(|scheme| text.find(scheme)).min()
}

/// Returns the length of the URL at the beginning of a text. Punctuation that ends a sentence, and
/// brackets, are excluded.
fn url_bytes(text: &str) -> usize {
    let ends = |letter: char| letter.is_whitespace() || "\"'<>()[]{}`|‘’“”".contains(letter);
    // Brackets may enclose an address in the host.
    let host = text.find("://").map_or(0, |at| at + 3);
    let host = match text[host..].starts_with('[') {
        true => text.find(']').map_or(host, |at| at + 1),
        false => host,
    };
    let end = text[host..].find(ends).map_or(text.len(), |at| host + at);
    text[..end].trim_end_matches([':', ',', '.', ';', '!']).len()
}

/// Returns a URL with its secrets hidden.
fn public_url(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Cow::Borrowed(url) };
    let host_bytes = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_bytes);
    let is_web = !["s3", "gs", "az"].iter().any(|store| scheme.eq_ignore_ascii_case(store));
    let (path, query) = path.split_once('?').map_or((path, None), |(path, it)| (path, Some(it)));
    let has_user = host.contains('@');
    let token = slices_token(scheme, host, path);
    if !has_user && query.is_none() && token.is_none() && !(is_web && path.contains('#')) {
        return Cow::Borrowed(url);
    }
    let mut public = format!("{scheme}://");
    match host.rsplit_once('@') {
        Some((_, host)) => public.extend([HIDDEN, "@", host]),
        None => public += host,
    }
    let path = match token {
        Some(token) => {
            public.extend(["/", HIDDEN]);
            &path[1 + token.len()..]
        }
        None => path,
    };
    match path.split_once('#').filter(|_| is_web) {
        Some((path, _)) => public.extend([path, "#", HIDDEN]),
        None => public += path,
    }
    if let Some(query) = query {
        public.push('?');
        public += &public_query(query, is_web);
    }
    Cow::Owned(public)
}

/// Returns the token in `http://HOST:PORT/TOKEN`, the URL of a server of sorted slices: 16 or more
/// ASCII letters, digits, `-` and `_`. It must be the last name, or names of such a server must
/// follow. Text in the form of a token that xsort generated is always a token.
fn slices_token<'u>(scheme: &str, host: &str, path: &'u str) -> Option<&'u str> {
    let has_port = host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok());
    let path = path.strip_prefix('/')?;
    let path = path.split('#').next().unwrap_or(path);
    let (token, rest) = path.split_once('/').unwrap_or((path, ""));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_made = token.len() >= MADE_TOKEN_DIGITS && token.bytes().all(is_hex);
    let is_served = rest.is_empty() || rest.split('/').any(is_served);
    let is_long = token.len() >= TOKEN_BYTES_MIN && token.bytes().all(is_plain);
    let is_token = is_made || is_long && is_served;
    (scheme.eq_ignore_ascii_case("http") && has_port && is_token).then_some(token)
}

/// Returns a query without the values that are secrets, or without all values.
fn public_query(query: &str, hides_all: bool) -> String {
    let public = |pair: &str| match pair.split_once('=') {
        _ if pair.is_empty() => String::new(),
        Some((name, _)) if hides_all || is_secret(name) => format!("{name}={HIDDEN}"),
        None if hides_all => HIDDEN.to_owned(),
        _ => pair.to_owned(),
    };
    query.split('&').map(public).collect::<Vec<_>>().join("&")
}

fn is_secret(name: &str) -> bool {
    SECRET_NAMES.contains(&&*name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        let path = public_path(Path::new(url)).to_str().unwrap().to_owned();
        assert_eq!(public_text(url), path, "as a text");
        path
    }

    #[test]
    fn a_url_is_known_by_its_beginning() {
        for url in ["s3://bucket/key", "gs://b", "az://c/d/", "https://host/a?b=c", "http://h/"] {
            assert!(is_url(Path::new(url)), "{url}");
        }
        for path in ["./s3://bucket/key", "s3:/bucket", "/s3://b", "S3://b", "file://x", "s3", ""] {
            assert!(!is_url(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn secrets_of_urls_are_left_out() {
        for (url, expected) in [
            ("https://host/a/b.csv", "https://host/a/b.csv"),
            ("https://me:pass@host:1/a", "https://***@host:1/a"),
            ("http://to%40ken@host", "http://***@host"),
            ("https://h/k?X-Amz-Signature=abc&x=1", "https://h/k?X-Amz-Signature=***&x=***"),
            ("https://h/k?secret", "https://h/k?***"),
            ("https://h?sig=a=b&", "https://h?sig=***&"),
            ("https://h/k#access_token=x", "https://h/k#***"),
            ("http://[::1]:9/k?a=b", "http://[::1]:9/k?a=***"),
            ("http://node:4117/0123456789abcdef", "http://node:4117/***"),
            ("http://[::1]:1/a-token_of-letters/slice-0.data", "http://[::1]:1/***/slice-0.data"),
            (
                "http://node:4117/0123456789abcde/slice-0.data",
                "http://node:4117/0123456789abcde/slice-0.data",
            ),
            ("http://node/0123456789abcdef/slice", "http://node/0123456789abcdef/slice"),
            ("http://node:1/a-token_of-letters/parts/3", "http://node:1/***/parts/3"),
            ("http://node:1/a-token_of-letters/", "http://node:1/***/"),
            ("http://node:1/a-token_of-letters#x", "http://node:1/***#***"),
            // A directory of a public server.
            ("http://node:1/measurements-2026/a.csv", "http://node:1/measurements-2026/a.csv"),
            ("http://node:1/0123456789abcdef/a", "http://node:1/0123456789abcdef/a"),
            // A token that the server generated, wherever it was typed.
            ("http://node:1/0123456789abcdef0123456789abcdef/a", "http://node:1/***/a"),
            ("http://node:1/0123456789abcdef0123456789abcdef0/a", "http://node:1/***/a"),
            ("s3://id:secret@bucket/key", "s3://***@bucket/key"),
            ("s3://bucket/a?x=1&y#z@", "s3://bucket/a?x=1&y#z@"),
            ("HTTPS://id:secret@h/k?sig=a", "HTTPS://***@h/k?sig=***"),
            ("az://c/k?sv=1&sig=a%2Fb&se=2", "az://c/k?sv=1&sig=***&se=2"),
            ("gs://b/k?X-Goog-Signature=0a", "gs://b/k?X-Goog-Signature=***"),
            (
                "s3://b/k?AWSAccessKeyId=AKIA&Signature=x",
                "s3://b/k?AWSAccessKeyId=***&Signature=***",
            ),
        ] {
            assert_eq!(shown(url), expected);
            assert_eq!(shown(expected), expected, "nothing more is left out");
        }
        assert_eq!(public_path(Path::new("./https://h/k?a=b")), Path::new("./https://h/k?a=b"));
        assert_eq!(public_path(Path::new("ftp://id:secret@h/k")), Path::new("ftp://***@h/k"));
    }

    #[test]
    fn urls_are_found_in_bytes_that_are_no_text() {
        for (bytes, expected) in [
            (&b"'http://u:p\xe9@h/k\xe9?a=b'\xe9"[..], &b"'http://***@h/k\xe9?a=***'\xe9"[..]),
            ("‘http://h/ü?a=b’".as_bytes(), "‘http://h/ü?a=***’".as_bytes()),
            (b"\xff", b"\xff"),
        ] {
            assert_eq!(*public_bytes(bytes), *expected);
        }
    }

    #[test]
    fn urls_are_found_in_texts() {
        for (text, expected) in [
            ("no URL? a=b", "no URL? a=b"),
            ("reading https://h/k?sig=a: no", "reading https://h/k?sig=***: no"),
            ("--from=http://h/k?a=b", "--from=http://h/k?a=***"),
            ("(https://u:p@h/) and 's3://b/k?sig=x'.", "(https://***@h/) and 's3://b/k?sig=***'."),
            ("url (http://h/?a=b)", "url (http://h/?a=***)"),
        ] {
            assert_eq!(public_text(text), expected);
        }
    }
}
