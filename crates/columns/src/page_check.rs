//! Checks the pages of a column chunk while their bytes pass.
//!
//! ```text
//!  | header | page | header | page | ... |   the whole chunk, as the footer says
//! ```
//!
//! Pages are not decompressed. It is checked that they fill the chunk, that they have as many
//! values as the footer says, and that the checksums of those that have one are right.

use crate::pages::{Counted, page_header};
use crc32fast::Hasher;
use std::io::{self, Read};
use thiserror::Error;

/// The reason why a column chunk can't be copied.
#[derive(Debug, Error)]
pub(crate) enum ChunkError {
    /// The bytes aren't what the footer says.
    #[error("{0}")]
    Damaged(&'static str),
    /// The bytes can't be read.
    #[error(transparent)]
    Read(io::Error),
}

impl From<ChunkError> for io::Error {
    fn from(error: ChunkError) -> io::Error {
        io::Error::other(error)
    }
}

/// A reader of a column chunk, which ends with the chunk's last page.
pub(crate) struct CheckedPages<R> {
    from: R,
    /// Bytes of the chunk after the current page.
    left_bytes: u64,
    /// Values that the pages after the current one should have.
    left_values: u64,
    /// The header of the current page, and the number of its bytes that were given.
    header: Vec<u8>,
    header_given: usize,
    /// Bytes of the current page that were not given.
    page_bytes: u64,
    /// The checksum of the current page, and that of the bytes given.
    checksum: Option<(u32, Hasher)>,
}

impl<R: Read> CheckedPages<R> {
    /// Begins a chunk of `bytes` bytes and `values` values.
    pub(crate) fn new(from: R, bytes: u64, values: u64) -> CheckedPages<R> {
        CheckedPages {
            from,
            left_bytes: bytes,
            left_values: values,
            header: Vec::new(),
            header_given: 0,
            page_bytes: 0,
            checksum: None,
        }
    }

    fn begin_page(&mut self) -> Result<(), ChunkError> {
        self.header.clear();
        self.header_given = 0;
        let mut record = Record { from: &mut self.from, bytes: &mut self.header, failed: None };
        let header = page_header(&mut Counted::new(record.by_ref().take(self.left_bytes)));
        if let Some(error) = record.failed {
            return Err(ChunkError::Read(error));
        }
        let header = header.ok_or(ChunkError::Damaged("a page has no header"))?;
        let bytes = self.header.len() as u64 + header.sizes.packed;
        let left_bytes = self.left_bytes.checked_sub(bytes);
        self.left_bytes = left_bytes.ok_or(ChunkError::Damaged("a page reaches beyond its end"))?;
        let left_values = self.left_values.checked_sub(header.values);
        self.left_values = left_values.ok_or(ChunkError::Damaged("it has too many values"))?;
        self.page_bytes = header.sizes.packed;
        self.checksum = header.checksum.map(|checksum| (checksum, Hasher::new()));
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), ChunkError> {
        if let Some((checksum, hasher)) = self.checksum.take()
            && hasher.finalize() != checksum
        {
            return Err(ChunkError::Damaged("the checksum of a page is wrong"));
        }
        match (self.left_bytes, self.left_values) {
            (0, 1..) => Err(ChunkError::Damaged("it has too few values")),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for CheckedPages<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.header_given == self.header.len() && self.page_bytes == 0 {
            if self.left_bytes == 0 || buffer.is_empty() {
                return Ok(0);
            }
            self.begin_page()?;
        }
        let header = &self.header[self.header_given..];
        let bytes = if header.is_empty() {
            let most = buffer.len().min(usize::try_from(self.page_bytes).unwrap_or(usize::MAX));
            let bytes = self.from.read(&mut buffer[..most]).map_err(ChunkError::Read)?;
            if bytes == 0 && most > 0 {
                return Err(ChunkError::Damaged("the file ends within it").into());
            }
            if let Some((_, hasher)) = &mut self.checksum {
                hasher.update(&buffer[..bytes]);
            }
            self.page_bytes -= bytes as u64;
            bytes
        } else {
            let bytes = header.len().min(buffer.len());
            buffer[..bytes].copy_from_slice(&header[..bytes]);
            self.header_given += bytes;
            bytes
        };
        if self.header_given == self.header.len() && self.page_bytes == 0 {
            self.end_page()?;
        }
        Ok(bytes)
    }
}

/// A reader that keeps the bytes it has read, and its error.
struct Record<'r, R> {
    from: &'r mut R,
    bytes: &'r mut Vec<u8>,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Record<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.from.read(buffer) {
            Ok(bytes) => {
                self.bytes.extend_from_slice(&buffer[..bytes]);
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of data with three values and a checksum.
    fn page(bytes: &[u8]) -> Vec<u8> {
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        let checksum = hasher.finalize() as i32;
        let mut zigzag = ((checksum << 1) ^ (checksum >> 31)) as u32;
        let size = bytes.len() as u8 * 2;
        let mut page = vec![0x15, 0, 0x15, size, 0x15, size, 0x15];
        while zigzag >= 0x80 {
            page.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        page.push(zigzag as u8);
        page.extend([0x1c, 0x15, 6, 0, 0]);
        page.extend(bytes);
        page
    }

    fn read(bytes: &[u8], length: usize, values: u64) -> Result<Vec<u8>, String> {
        let mut found = Vec::new();
        let mut pages = CheckedPages::new(bytes, length as u64, values);
        let mut buffer = [0; 5];
        loop {
            match pages.read(&mut buffer).map_err(|error| error.to_string())? {
                0 => return Ok(found),
                bytes => found.extend_from_slice(&buffer[..bytes]),
            }
        }
    }

    #[test]
    fn pages_pass_and_every_damage_is_found() {
        let chunk = [page(b"first page"), page(b""), page(b"last")].concat();
        assert_eq!(read(&chunk, chunk.len(), 9).unwrap(), chunk);
        assert_eq!(read(&chunk, chunk.len(), 8).unwrap_err(), "it has too many values");
        assert_eq!(read(&chunk, chunk.len(), 10).unwrap_err(), "it has too few values");
        assert!(read(&chunk, chunk.len() - 1, 9).is_err());
        assert!(read(&chunk[..chunk.len() - 1], chunk.len(), 9).is_err());
        let (first, last) = (page(b"first page").len(), chunk.len());
        for at in 0..chunk.len() {
            let mut damaged = chunk.clone();
            damaged[at] ^= 0x10;
            let found = read(&damaged, chunk.len(), 9);
            assert!(found.is_err() || found == Ok(damaged.clone()), "{at}");
            let is_in_page = (first - 10..first).contains(&at) || (last - 4..last).contains(&at);
            assert!(!is_in_page || found.is_err(), "{at}");
        }
    }
}
