//! A part of a file, read through the page cache beside other parts of it.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use xsort_disk::read_ahead;

/// Bytes that the kernel is asked to read ahead. Its own read-ahead is a fraction of this, and a
/// merge would wait for the drive.
const AHEAD_BYTES: NonZeroU64 = NonZeroU64::new(4 << 20).expect("it isn't 0");

/// Reads a part of a file. It isn't a [`RangeRead`](super::RangeRead), because that maps blocks to
/// bypass the page cache, and the plan of a sort has no share of memory for them.
pub(super) struct FilePart {
    file: File,
    offset: u64,
    /// The kernel was asked to read up to here.
    ahead: u64,
    /// The part's end; `None` for that of the file.
    end: Option<u64>,
    /// The byte that the part ends with, if its end isn't that of the file.
    delimiter: u8,
}

impl FilePart {
    /// Opens the part from `begin` to `end` of the file at `path`, which was `found` there before.
    /// It ends with `delimiter`.
    ///
    /// # Errors
    ///
    /// If the file can't be opened, or if it is another one or has another size.
    pub(super) fn open(
        path: &Path,
        found: &Metadata,
        (begin, end): (u64, Option<u64>),
        delimiter: u8,
    ) -> io::Result<FilePart> {
        let file = File::open(path)?;
        let own = file.metadata()?;
        let identity = |of: &Metadata| (of.dev(), of.ino(), of.size());
        if identity(&own) != identity(found) {
            return Err(io::Error::other("the file has changed"));
        }
        Ok(FilePart { file, offset: begin, ahead: begin, end, delimiter })
    }
}

impl Read for FilePart {
    /// Fails if the file becomes shorter, or if the part doesn't end where a line does: the file
    /// was changed, and a line would come out as two.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.end.map_or(u64::MAX, |end| end - self.offset);
        let wanted = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        if self.offset + AHEAD_BYTES.get() / 2 >= self.ahead {
            // Without it, reads are only slower.
            read_ahead(&self.file, self.ahead, AHEAD_BYTES);
            self.ahead += AHEAD_BYTES.get();
        }
        let read = self.file.read_at(&mut buffer[..wanted], self.offset)?;
        if read == 0 && wanted > 0 && self.end.is_some() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.offset += read as u64;
        if read > 0 && self.end == Some(self.offset) && buffer[read - 1] != self.delimiter {
            return Err(io::Error::other("the file has changed while it was read"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(part: io::Result<FilePart>) -> io::Result<String> {
        let mut text = String::new();
        part?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn parts_are_those_of_one_file_and_end_with_a_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "a\nbc\nd").unwrap();
        let found = fs::metadata(&path).unwrap();
        let open = |range| FilePart::open(&path, &found, range, b'\n');
        assert_eq!(read(open((0, Some(2)))).unwrap(), "a\n");
        assert_eq!(read(open((2, None))).unwrap(), "bc\nd");
        assert!(read(open((0, Some(3)))).unwrap_err().to_string().contains("has changed"));
        let begun = open((2, Some(5)));
        File::options().write(true).open(&path).unwrap().set_len(4).unwrap();
        assert_eq!(read(begun).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        // Another file of the same size.
        let other = directory.path().join("other");
        fs::write(&other, "a\nbc\nd").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(open((0, Some(2))).is_err());
    }
}
