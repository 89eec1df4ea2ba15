//! `--header`: lines at the head of the first input that stay where they are.

use std::io::{self, BufRead, BufReader};
use xsort_extsort::variable::Source;

/// Takes the first lines of a source, each with its end; all of them if it has fewer.
pub(super) fn take_header(source: &mut Source, lines: u64, terminator: u8) -> io::Result<Vec<u8>> {
    let bytes_from = std::mem::replace(&mut source.bytes_from, Box::new(io::empty()));
    let mut reader = BufReader::new(bytes_from);
    let mut header = Vec::new();
    for _ in 0..lines {
        if reader.read_until(terminator, &mut header)? == 0 {
            break;
        }
    }
    if header.last().is_some_and(|&last| last != terminator) {
        header.push(terminator);
    }
    source.bytes_from = Box::new(reader);
    source.is_file = false;
    source.bytes = source.bytes.map(|bytes| bytes.saturating_sub(header.len() as u64));
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read};

    fn split(text: &[u8], lines: u64) -> (Vec<u8>, Vec<u8>) {
        let bytes_from = Box::new(Cursor::new(text.to_vec()));
        let bytes = Some(text.len() as u64);
        let mut source = Source { path: "file".into(), bytes_from, bytes, is_file: true };
        let header = take_header(&mut source, lines, b'\n').unwrap();
        let mut rest = Vec::new();
        source.bytes_from.read_to_end(&mut rest).unwrap();
        assert_eq!(source.bytes, Some(rest.len() as u64));
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
