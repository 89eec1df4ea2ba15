//! Header lines at the top of an input, which stay there.

use super::{Content, LinesInput};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

/// Most bytes of a header, which is kept in memory beside the budget.
const HEADER_BYTES_MAX: usize = 16 << 20;

/// Which lines stay at the top of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'a> {
    /// A number of lines.
    Lines(u64),
    /// All lines up to the first that doesn't begin with this prefix. It has at least one byte, and
    /// isn't a line's end.
    Prefix(&'a [u8]),
}

/// Takes the header lines of an input, each with its delimiter, or all lines if the input has no
/// more.
///
/// # Errors
///
/// If the input can't be read, or has a header of more than 16 MiB.
pub fn take_header(
    input: &mut LinesInput,
    header: Header<'_>,
    delimiter: u8,
) -> io::Result<Vec<u8>> {
    let nothing = Content::Stream(Box::new(io::empty()));
    let content = std::mem::replace(&mut input.content, nothing);
    let mut reader = BufReader::new(content.into_bytes());
    let mut lines = Vec::new();
    // The beginning of the first line after the header.
    let mut rest = Vec::new();
    match header {
        Header::Lines(count) => {
            for _ in 0..count {
                if read_line(&mut reader, delimiter, &mut lines)? == 0 {
                    break;
                }
            }
        }
        Header::Prefix(prefix) => loop {
            let begin = lines.len();
            reader.by_ref().take(prefix.len() as u64).read_to_end(&mut lines)?;
            if &lines[begin..] != prefix {
                rest = lines.split_off(begin);
                break;
            }
            read_line(&mut reader, delimiter, &mut lines)?;
        },
    }
    if lines.last().is_some_and(|&last| last != delimiter) {
        lines.push(delimiter);
    }
    input.content = Content::Stream(Box::new(Cursor::new(rest).chain(reader)));
    input.bytes = input.bytes.map(|bytes| bytes.saturating_sub(lines.len() as u64));
    Ok(lines)
}

/// Reads to the end of a line. Returns the number of bytes read.
fn read_line(reader: &mut impl BufRead, delimiter: u8, lines: &mut Vec<u8>) -> io::Result<usize> {
    let most = HEADER_BYTES_MAX.saturating_sub(lines.len()) + 1;
    let bytes = reader.take(most as u64).read_until(delimiter, lines)?;
    if lines.len() > HEADER_BYTES_MAX {
        let what = "its header is longer than 16 MiB, which is the most: cut it off before";
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &[u8], header: Header<'_>) -> (Vec<u8>, Vec<u8>) {
        let content = Content::Stream(Box::new(Cursor::new(text.to_vec())));
        let bytes = Some(text.len() as u64);
        let mut input = LinesInput { path: "file".into(), bytes, content };
        let header = take_header(&mut input, header, b'\n').unwrap();
        let bytes = input.bytes;
        let mut rest = Vec::new();
        input.into_bytes().read_to_end(&mut rest).unwrap();
        assert_eq!(bytes, Some(rest.len() as u64));
        (header, rest)
    }

    /// The largest possible count once caused as many reads of a file that had ended.
    #[test]
    fn a_header_ends_where_its_file_does() {
        let lines = Header::Lines(2);
        assert_eq!(split(b"a\n\nb\nc", lines), (b"a\n\n".to_vec(), b"b\nc".to_vec()));
        for lines in [4, 5, u64::MAX].map(Header::Lines) {
            assert_eq!(split(b"a\n\nb\nc", lines), (b"a\n\nb\nc\n".to_vec(), Vec::new()));
            assert_eq!(split(b"", lines), (Vec::new(), Vec::new()));
        }
    }

    #[test]
    fn a_header_ends_before_the_first_line_that_begins_in_another_way() {
        for (text, header, rest) in [
            ("##a\n#b\nc\n#d\n", "##a\n#b\n", "c\n#d\n"),
            ("c\n#d\n", "", "c\n#d\n"),
            ("#", "#\n", ""),
            ("#\n#\n\n#\n", "#\n#\n", "\n#\n"),
            ("", "", ""),
        ] {
            let expected = (header.as_bytes().to_vec(), rest.as_bytes().to_vec());
            assert_eq!(split(text.as_bytes(), Header::Prefix(b"#")), expected, "{text}");
        }
        // A prefix longer than the lines.
        let prefix = Header::Prefix(b"##a");
        assert_eq!(split(b"##a\n#\n#\n", prefix), (b"##a\n".to_vec(), b"#\n#\n".to_vec()));
        assert_eq!(split(b"##a\n#", prefix), (b"##a\n".to_vec(), b"#".to_vec()));
    }

    /// It would take memory that isn't counted.
    #[test]
    fn a_header_that_does_not_end_is_refused() {
        for (part, header) in [(&b"#line\n"[..], Header::Prefix(b"#")), (b"x", Header::Lines(1))] {
            let endless = part.repeat(HEADER_BYTES_MAX / part.len() + 1);
            let content = Content::Stream(Box::new(Cursor::new(endless)));
            let mut input = LinesInput { path: "file".into(), bytes: None, content };
            take_header(&mut input, header, b'\n').unwrap_err();
        }
    }
}
