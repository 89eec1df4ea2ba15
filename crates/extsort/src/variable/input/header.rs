//! Lines at the top of an input that stay where they are.

use super::{Content, LinesInput};
use std::io::{self, BufRead, BufReader};

/// Takes the first lines of an input, each with its delimiter; all of them if it has fewer.
///
/// # Errors
/// If the input can't be read.
pub fn take_header(input: &mut LinesInput, lines: u64, delimiter: u8) -> io::Result<Vec<u8>> {
    let nothing = Content::Stream(Box::new(io::empty()));
    let content = std::mem::replace(&mut input.content, nothing);
    let mut reader = BufReader::new(content.into_bytes());
    let mut header = Vec::new();
    for _ in 0..lines {
        if reader.read_until(delimiter, &mut header)? == 0 {
            break;
        }
    }
    if header.last().is_some_and(|&last| last != delimiter) {
        header.push(delimiter);
    }
    input.content = Content::Stream(Box::new(reader));
    input.bytes = input.bytes.map(|bytes| bytes.saturating_sub(header.len() as u64));
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read};

    fn split(text: &[u8], lines: u64) -> (Vec<u8>, Vec<u8>) {
        let content = Content::Stream(Box::new(Cursor::new(text.to_vec())));
        let bytes = Some(text.len() as u64);
        let mut input = LinesInput { path: "file".into(), bytes, content };
        let header = take_header(&mut input, lines, b'\n').unwrap();
        let bytes = input.bytes;
        let mut rest = Vec::new();
        input.into_bytes().read_to_end(&mut rest).unwrap();
        assert_eq!(bytes, Some(rest.len() as u64));
        (header, rest)
    }

    /// The largest number there is once took as many reads of a file that was over.
    #[test]
    fn a_header_ends_where_its_file_does() {
        assert_eq!(split(b"a\n\nb\nc", 2), (b"a\n\n".to_vec(), b"b\nc".to_vec()));
        for lines in [4, 5, u64::MAX] {
            assert_eq!(split(b"a\n\nb\nc", lines), (b"a\n\nb\nc\n".to_vec(), Vec::new()));
            assert_eq!(split(b"", lines), (Vec::new(), Vec::new()));
        }
    }
}
