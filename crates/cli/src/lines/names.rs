//! File names in messages: as they are if a shell would read them so, else as a word that can be pasted into one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The name, in marks only where it needs them.
pub(super) fn shown(name: &OsStr) -> Vec<u8> {
    let bytes = name.as_bytes();
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"%+,-./@]_#~{}".contains(byte) || *byte >= 0x80;
    let is_odd = matches!(bytes, [] | [b'#' | b'~', ..] | b"{" | b"}");
    let is_shown = !is_odd && bytes.iter().all(is_plain) && std::str::from_utf8(bytes).is_ok();
    if is_shown { bytes.to_vec() } else { quoted(name) }
}

/// The name in marks.
pub(super) fn quoted(name: &OsStr) -> Vec<u8> {
    let bytes = name.as_bytes();
    let is_harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"'%+,-./:@]_ ".contains(byte);
    if bytes.contains(&b'\'') && bytes.iter().all(is_harmless) {
        return [b"\"", bytes, b"\""].concat();
    }
    let mut quoted = b"'".to_vec();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' => quoted.extend(b"'\\''"),
                c if c.is_control() => escape(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut quoted),
                c => quoted.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        escape(chunk.invalid(), &mut quoted);
    }
    quoted.push(b'\'');
    quoted
}

/// Bytes that can't be printed, as C writes them.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    out.extend(b"'$'");
    for &byte in bytes {
        match byte {
            7..=13 => out.extend([b'\\', b"abtnvfr"[usize::from(byte - 7)]]),
            _ => out.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    out.extend(b"''");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As GNU sort 9.1 shows them.
    #[test]
    fn names_are_words_of_a_shell() {
        for (name, expected) in [
            ("plain-name_1.txt", "plain-name_1.txt"),
            ("a b", "'a b'"),
            ("x:y", "'x:y'"),
            ("x=y", "'x=y'"),
            ("#a", "'#a'"),
            ("a#", "a#"),
            ("{", "'{'"),
            ("{}", "{}"),
            ("", "''"),
            ("it's", "\"it's\""),
            ("it's $", "'it'\\''s $'"),
            ("a\nb", "'a'$'\\n''b'"),
            ("a\x7fb", "'a'$'\\177''b'"),
            ("é", "é"),
        ] {
            assert_eq!(String::from_utf8(shown(OsStr::new(name))).unwrap(), expected, "{name:?}");
        }
        assert_eq!(quoted(OsStr::new("a")), b"'a'");
        assert_eq!(shown(OsStr::from_bytes(b"a\xffb")), b"'a'$'\\377''b'");
    }
}
