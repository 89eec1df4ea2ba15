//! A part of a file as a stream of bytes, read ahead and bypassing the page cache.

use crate::store::read_ahead::ReadAhead;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{BlockPool, Disk, Error, FileIdentity, Operation};

/// Reads the bytes of a range of a file, in order. At the end it fails if the file is at a URL and
/// has changed since it was opened.
pub struct RangeRead {
    ahead: ReadAhead<Arc<dyn Disk>>,
    /// Bytes to skip before the range begins.
    before: u64,
}

impl RangeRead {
    /// Opens `bytes` bytes at `offset` of the file at `path`. Maps `blocks` blocks of `block_bytes`
    /// bytes (a multiple of the alignment) to read with.
    ///
    /// # Errors
    ///
    /// If the file can't be opened, or ends before the range does.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        (offset, bytes): (u64, u64),
        (blocks, block_bytes): (usize, usize),
    ) -> Result<RangeRead, Error> {
        let pool = BlockPool::map(blocks, block_bytes)?;
        let mut ahead = ReadAhead::open(Arc::clone(disk), path, pool)?;
        let end = offset.saturating_add(bytes);
        let file_bytes = ahead.end_at(end);
        if file_bytes < end {
            let reason = format!("{end} bytes are expected, and the file is shorter");
            let short = io::Error::new(io::ErrorKind::UnexpectedEof, reason);
            return Err(Error::at(Operation::Read, path, file_bytes, short));
        }
        if bytes == 0 {
            ahead.end_at(0);
            return Ok(RangeRead { ahead, before: 0 });
        }
        let before = offset - ahead.skip(offset);
        Ok(RangeRead { ahead, before })
    }

    /// The identity of the open file.
    ///
    /// # Errors
    ///
    /// If the disk can't tell.
    pub fn identity(&self) -> Result<FileIdentity, Error> {
        self.ahead.identity()
    }
}

impl Read for RangeRead {
    /// Errors of the disk are wrapped in the returned error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.before > 0 {
            let mut skipped = [0; 4096];
            let bytes = self.before.min(skipped.len() as u64) as usize;
            self.before -= self.ahead.read(&mut skipped[..bytes])? as u64;
        }
        self.ahead.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_disk::{SimDisk, SimOptions};

    #[test]
    fn any_range_is_read_and_no_other_byte() {
        let sim = SimDisk::new(SimOptions::rough(3));
        let text: Vec<u8> = (0..50_000_u32).map(|at| (at % 251) as u8).collect();
        sim.put("file", &text);
        let disk: Arc<dyn Disk> = Arc::new(sim);
        for range in [0..50_000, 0..1, 1..2, 4096..8192, 4095..8193, 12_345..50_000, 700..700] {
            let (begin, end) = (range.start as u64, range.end as u64);
            let open = RangeRead::open(&disk, Path::new("file"), (begin, end - begin), (2, 4096));
            let mut read = Vec::new();
            open.unwrap().read_to_end(&mut read).unwrap();
            assert!(read == text[range], "{begin}..{end}");
        }
        let beyond = RangeRead::open(&disk, Path::new("file"), (49_999, 2), (2, 4096));
        let error = beyond.err().unwrap().to_string();
        assert!(error.contains("file at byte 50000") && error.contains("50001"), "{error}");
    }
}
