//! Names of files in messages. A name is any bytes: line ends that would fake a message of their
//! own, or a terminal's commands.

use std::fmt::{self, Write};
use std::path::Path;

/// A path in a text for people, on one line: control characters and those that turn the direction
/// of writing are escaped (`\n`, `\u{1b}`), what is no UTF-8 is U+FFFD. Not for programs, which
/// can't get the path back from it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<P>(pub P);

impl<P: AsRef<Path>> fmt::Display for Shown<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_ref().as_os_str().as_encoded_bytes().utf8_chunks() {
            for character in chunk.valid().chars() {
                if is_unfit(character) {
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

fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_stay_on_their_line_and_say_nothing_to_terminals() {
        let shown = |bytes: &[u8]| Shown(OsStr::from_bytes(bytes)).to_string();
        assert_eq!(shown("/data/größe 1".as_bytes()), "/data/größe 1");
        assert_eq!(shown(b"a\nxsort: error: b"), "a\\nxsort: error: b");
        assert_eq!(shown(b"\x1b[31m\x7f\r\t\0"), "\\u{1b}[31m\\u{7f}\\r\\t\\u{0}");
        assert_eq!(shown("\u{9b}2J\u{202e}".as_bytes()), "\\u{9b}2J\\u{202e}");
        assert_eq!(shown(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
    }
}
