//! Where bytes are: extents of a few nameless files, each written once, and given back to the file
//! system when nobody has them any more.

use rustix::fs::{FallocateFlags, fallocate, sendfile};
use std::fs::File;
use std::io::{self, Read};
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A write locks its file, so connections write to several.
const FILES: usize = 16;
/// Extents begin at whole pages, which can be given back.
const PAGE: u64 = 4096;
/// What is received at once: it stays in the processor's cache until it is written.
const BUFFER_BYTES: usize = 256 << 10;

/// The files.
pub(crate) struct Extents {
    files: Vec<Arc<Growing>>,
    next: AtomicUsize,
}

/// A file, and where it is not written yet.
struct Growing {
    file: File,
    end: AtomicU64,
}

/// A range of a file.
pub(crate) struct Extent {
    file: Arc<Growing>,
    start: u64,
    bytes: u64,
}

impl Extents {
    pub(crate) fn new(directory: &Path) -> io::Result<Extents> {
        let file = |_| {
            let file = tempfile::tempfile_in(directory)?;
            Ok(Arc::new(Growing { file, end: AtomicU64::new(0) }))
        };
        let files = (0..FILES).map(file).collect::<io::Result<_>>()?;
        Ok(Extents { files, next: AtomicUsize::new(0) })
    }

    /// Takes exactly so many bytes, and their CRC-32 if `is_summed`.
    pub(crate) fn take(
        &self,
        mut from: impl Read,
        bytes: u64,
        is_summed: bool,
    ) -> io::Result<(Extent, Option<u32>)> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let file = Arc::clone(&self.files[next % FILES]);
        let start = file.end.fetch_add(bytes.next_multiple_of(PAGE), Ordering::Relaxed);
        // Gives back what it has if the connection breaks.
        let extent = Extent { file, start, bytes };
        let mut buffer = vec![0; BUFFER_BYTES.min(bytes as usize)];
        let mut sum = is_summed.then(crc32fast::Hasher::new);
        let mut done = 0;
        while done < bytes {
            let wanted = buffer.len().min((bytes - done) as usize);
            let read = from.read(&mut buffer[..wanted])?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(sum) = &mut sum {
                sum.update(&buffer[..read]);
            }
            extent.file.file.write_all_at(&buffer[..read], start + done)?;
            done += read as u64;
        }
        Ok((extent, sum.map(crc32fast::Hasher::finalize)))
    }
}

impl Extent {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Has the kernel send a range, without a copy of ours.
    pub(crate) fn send(&self, range: Range<u64>, stream: &TcpStream) -> io::Result<()> {
        let (mut offset, end) = (self.start + range.start, self.start + range.end);
        while offset < end {
            let bytes = (end - offset) as usize;
            match sendfile(stream, &self.file.file, Some(&mut offset), bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if self.bytes > 0 {
            // Where holes can't be made, space comes back when the server ends.
            let _ =
                fallocate(&self.file.file, flags, self.start, self.bytes.next_multiple_of(PAGE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_nobody_has_takes_no_space() {
        let directory = tempfile::tempdir().unwrap();
        let extents = Extents::new(directory.path()).unwrap();
        let blocks = || -> u64 {
            extents.files.iter().map(|growing| growing.file.metadata().unwrap().blocks()).sum()
        };
        let (kept, crc) = extents.take(&b"123456789"[..], 9, true).unwrap();
        assert_eq!((kept.bytes(), crc), (9, Some(0xcbf4_3926)));
        let least = blocks();
        let (dropped, crc) = extents.take(io::repeat(1), 1 << 20, false).unwrap();
        assert!(blocks() > least && crc.is_none());
        drop(dropped);
        assert!(extents.take(io::repeat(1).take(1 << 20), 2 << 20, false).is_err());
        assert_eq!(blocks(), least);
    }
}
