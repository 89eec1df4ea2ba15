//! Quotes arguments in messages as GNU programs do, in two styles.
//!
//! `quote` is for words of the command line: the locale's quotation marks and C escapes.
//! `quote_name` is for file names, and its result can be pasted into a shell. `show_name` omits the
//! marks where a shell needs none.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::locale::Locale;

/// Quotes with the locale's quotation marks, and escapes characters that it can't print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quoting<'a>(pub(crate) &'a Locale);

/// A piece of text: a printable character, or one byte that isn't printable.
enum Piece<'a> {
    Printable(&'a [u8]),
    Other(u8),
}

impl Quoting<'_> {
    /// `text` between the locale's quotation marks.
    pub(crate) fn quote(self, text: &[u8]) -> Vec<u8> {
        let (open, close): (&[u8], &[u8]) =
            if self.0.is_utf8 { ("‘".as_bytes(), "’".as_bytes()) } else { (b"'", b"'") };
        let mut quoted = open.to_vec();
        for piece in self.pieces(text) {
            match piece {
                Piece::Printable(bytes) => {
                    if bytes == close || bytes == b"\\" {
                        quoted.push(b'\\');
                    }
                    quoted.extend_from_slice(bytes);
                }
                Piece::Other(byte) => escape(byte, &mut quoted),
            }
        }
        quoted.extend_from_slice(close);
        quoted
    }

    /// `name` as a word of a shell, always with marks.
    pub(crate) fn quote_name(self, name: &[u8]) -> Vec<u8> {
        if name.contains(&b'\'') && self.fits_double_marks(name) {
            return [b"\"", name, b"\""].concat();
        }
        let mut quoted = b"'".to_vec();
        let mut escapes = false;
        for piece in self.pieces(name) {
            match piece {
                Piece::Printable(b"'") => {
                    quoted.extend_from_slice(b"'\\''");
                    escapes = false;
                }
                Piece::Printable(bytes) => {
                    if escapes {
                        quoted.extend_from_slice(b"''");
                    }
                    quoted.extend_from_slice(bytes);
                    escapes = false;
                }
                Piece::Other(byte) => {
                    if !escapes {
                        quoted.extend_from_slice(b"'$'");
                    }
                    escape(byte, &mut quoted);
                    escapes = true;
                }
            }
        }
        quoted.push(b'\'');
        quoted
    }

    /// `name` unchanged if a shell would read it unchanged, else as a word of a shell.
    pub(crate) fn show_name(self, name: &[u8]) -> Vec<u8> {
        let is_plain = |piece: &Piece<'_>| match *piece {
            Piece::Printable(&[byte]) => {
                byte.is_ascii_alphanumeric() || byte >= 0x80 || b"%+,-./@]_#~{}".contains(&byte)
            }
            Piece::Printable(_) => true,
            Piece::Other(_) => false,
        };
        let is_odd = matches!(name, [] | [b'#' | b'~', ..] | b"{" | b"}");
        let is_shown = !is_odd && self.pieces(name).iter().all(is_plain);
        if is_shown { name.to_vec() } else { self.quote_name(name) }
    }

    /// True if `name` has no character that is special between double quotes in a shell.
    fn fits_double_marks(self, name: &[u8]) -> bool {
        let is_harmless = |(at, piece): (usize, &Piece<'_>)| match *piece {
            Piece::Printable(&[byte @ ..0x80]) => {
                let is_plain = byte.is_ascii_alphanumeric() || b"'%+,-./:@]_ ".contains(&byte);
                is_plain || (at == 0 && b"#~".contains(&byte))
            }
            Piece::Printable(_) => true,
            Piece::Other(_) => false,
        };
        self.pieces(name).iter().enumerate().all(is_harmless)
    }

    fn pieces<'a>(self, text: &'a [u8]) -> Vec<Piece<'a>> {
        if !self.0.is_utf8 {
            let piece = |byte: &'a u8| match self.0.classes.printable[usize::from(*byte)] {
                true => Piece::Printable(std::slice::from_ref(byte)),
                false => Piece::Other(*byte),
            };
            return text.iter().map(piece).collect();
        }
        let mut pieces = Vec::new();
        for chunk in text.utf8_chunks() {
            for (at, c) in chunk.valid().char_indices() {
                let bytes = &chunk.valid().as_bytes()[at..at + c.len_utf8()];
                if self.0.handle.is_printable(c) {
                    pieces.push(Piece::Printable(bytes));
                } else {
                    pieces.extend(bytes.iter().map(|&byte| Piece::Other(byte)));
                }
            }
            pieces.extend(chunk.invalid().iter().map(|&byte| Piece::Other(byte)));
        }
        pieces
    }
}

/// Appends one byte as a C escape.
fn escape(byte: u8, out: &mut Vec<u8>) {
    match byte {
        7..=13 => out.extend_from_slice(&[b'\\', b"abtnvfr"[usize::from(byte - 7)]]),
        _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
    }
}

/// A file's name as messages show it: unchanged if a shell would read it unchanged, else as a word
/// that can be pasted into a shell.
pub fn shown_name(name: &OsStr, locale: &Locale) -> Vec<u8> {
    Quoting(locale).show_name(name.as_bytes())
}

/// A file's name as a word that can be pasted into a shell, always with marks.
pub fn quoted_name(name: &OsStr, locale: &Locale) -> Vec<u8> {
    Quoting(locale).quote_name(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal to the messages of GNU sort 9.1.
    #[test]
    fn names_are_words_of_a_shell() {
        let locale = Locale::named("C.UTF-8").unwrap();
        let shown =
            |name: &[u8]| String::from_utf8(shown_name(OsStr::from_bytes(name), &locale)).unwrap();
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
            ("it's ä", "\"it's ä\""),
            ("it's $", "'it'\\''s $'"),
            ("a\nb", "'a'$'\\n''b'"),
            ("a\n\nb\n", "'a'$'\\n\\n''b'$'\\n'"),
            ("a\x7fb", "'a'$'\\177''b'"),
            ("é", "é"),
        ] {
            assert_eq!(shown(name.as_bytes()), expected, "{name:?}");
        }
        assert_eq!(shown(b"a\xffb"), "'a'$'\\377''b'");
        assert_eq!(quoted_name(OsStr::new("a"), &locale), b"'a'");
    }
}
