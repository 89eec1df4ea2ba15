//! Streams that behave like pipes: a read returns what is available, not what was requested.

use std::io::{self, Cursor, Read};

/// A stream of bytes that returns at most `bytes_max` bytes per read.
#[derive(Clone)]
pub struct Dribble {
    bytes: Cursor<Vec<u8>>,
    bytes_max: usize,
    fails_at: Option<u64>,
}

impl Dribble {
    /// Creates a stream that ends after the last byte.
    pub fn new(bytes: Vec<u8>, bytes_max: usize) -> Dribble {
        Dribble { bytes: Cursor::new(bytes), bytes_max, fails_at: None }
    }

    /// Makes every read at this offset or later fail with EIO.
    pub fn fails_at(self, offset: u64) -> Dribble {
        Dribble { fails_at: Some(offset), ..self }
    }
}

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.fails_at.is_some_and(|offset| self.bytes.position() >= offset) {
            const EIO: i32 = 5;
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let bytes = buffer.len().min(self.bytes_max);
        self.bytes.read(&mut buffer[..bytes])
    }
}
