//! File names in messages. A name may hold any bytes: line ends that would fake another message, or
//! escape sequences that a terminal would obey. A URL may hold secrets.

use crate::public_path;
use std::fmt::{self, Write};
use std::path::Path;

/// Displays a path for people, on one line. Control characters and those that change the writing
/// direction are escaped (`\n`, `\u{1b}`), bytes that are not UTF-8 become U+FFFD, and a URL's
/// secrets are left out. Not for programs: the path can't be restored from it.
#[derive(Clone, Copy, Debug)]
pub struct DisplayPath<P>(pub P);

impl<P: AsRef<Path>> fmt::Display for DisplayPath<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let public = public_path(self.0.as_ref());
        for chunk in public.as_os_str().as_encoded_bytes().utf8_chunks() {
            for character in chunk.valid().chars() {
                if needs_escape(character) {
                    write!(f, "{}", character.escape_default())?;
                } else {
                    f.write_char(character)?;
                }
            }
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_stay_on_their_line_and_say_nothing_to_terminals() {
        let shown = |bytes: &[u8]| DisplayPath(OsStr::from_bytes(bytes)).to_string();
        assert_eq!(shown("/data/größe 1".as_bytes()), "/data/größe 1");
        assert_eq!(shown(b"a\nxsort: error: b"), "a\\nxsort: error: b");
        assert_eq!(shown(b"\x1b[31m\x7f\r\t\0"), "\\u{1b}[31m\\u{7f}\\r\\t\\u{0}");
        assert_eq!(shown("\u{9b}2J\u{202e}".as_bytes()), "\\u{9b}2J\\u{202e}");
        assert_eq!(shown(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
    }
}
