//! A part of a file, read through the page cache beside other parts of it.

use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes that the kernel is asked to read ahead. Its own read-ahead is a fraction of this, and a
/// merge would wait for the drive.
const AHEAD_BYTES: u64 = 4 << 20;

/// Reads a part of a file.
pub(super) struct FilePart {
    file: File,
    offset: u64,
    /// The kernel was asked to read up to here.
    ahead: u64,
    /// The part's end; `None` for that of the file.
    end: Option<u64>,
}

impl FilePart {
    /// Opens the part from `begin` to `end` of the file at `path`, which has `bytes` bytes.
    ///
    /// # Errors
    ///
    /// If the file can't be opened, or has another size.
    pub(super) fn open(
        path: &Path,
        bytes: u64,
        begin: u64,
        end: Option<u64>,
    ) -> io::Result<FilePart> {
        let file = File::open(path)?;
        if file.metadata()?.size() != bytes {
            return Err(io::Error::other("the file has changed"));
        }
        Ok(FilePart { file, offset: begin, ahead: begin, end })
    }
}

impl Read for FilePart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.end.map_or(u64::MAX, |end| end - self.offset);
        let wanted = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        if self.offset + AHEAD_BYTES / 2 >= self.ahead {
            // Without it, reads are only slower.
            let ahead = NonZeroU64::new(AHEAD_BYTES);
            let _ = fadvise(&self.file, self.ahead, ahead, Advice::WillNeed);
            self.ahead += AHEAD_BYTES;
        }
        let read = self.file.read_at(&mut buffer[..wanted], self.offset)?;
        if read == 0 && wanted > 0 && self.end.is_some() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.offset += read as u64;
        Ok(read)
    }
}
