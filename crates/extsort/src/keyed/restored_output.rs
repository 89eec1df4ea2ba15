//! Writes keyed records as records, without their keys.

use super::restore::Restore;
use std::io::{self, Write};

/// Bytes that are restored at once.
const PIECE_BYTES: usize = 64 << 10;

/// Takes keyed records, and writes the first ones without their keys, up to a limit.
#[derive(Debug)]
pub struct RestoredOutput<W> {
    to: W,
    restore: Restore,
    buffer: Vec<u8>,
    records_left: u64,
    /// Bytes of records written so far.
    pub written_bytes: u64,
}

impl<W: Write> RestoredOutput<W> {
    /// An output that writes at most `records_max` records to `to`.
    pub fn new(to: W, records_max: u64) -> Self {
        let restore = Restore::default();
        RestoredOutput {
            to,
            restore,
            buffer: Vec::new(),
            records_left: records_max,
            written_bytes: 0,
        }
    }
}

impl<W: Write> Write for RestoredOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.chunks(PIECE_BYTES) {
            self.buffer.clear();
            self.buffer.extend_from_slice(piece);
            let restored = self.restore.apply(&mut self.buffer, &mut self.records_left);
            self.to.write_all(&self.buffer[..restored])?;
            self.written_bytes += restored as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
