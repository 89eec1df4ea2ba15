//! The bandwidth limit for streams that bypass the disk.

use std::io::{self, Read, Write};
use std::sync::Arc;
use xsort_disk::RateLimit;
use xsort_extsort::lines::LinesInput;

/// A reader or writer that bypasses the disk and obeys a bandwidth limit.
pub struct Limited<T> {
    inner: T,
    rate: Arc<RateLimit>,
}

impl<T> Limited<T> {
    /// Limits `inner` to `rate`.
    pub fn new(inner: T, rate: Arc<RateLimit>) -> Limited<T> {
        Limited { inner, rate }
    }
}

/// Applies the bandwidth limit, if there is one, to an input that bypasses the disk.
pub(crate) fn limited_input(input: LinesInput, rate: Option<&Arc<RateLimit>>) -> LinesInput {
    match rate.cloned() {
        Some(rate) => {
            input.read_through(move |bytes| Box::new(Limited::new(bytes, Arc::clone(&rate))))
        }
        None => input,
    }
}

impl<T: Read> Read for Limited<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        // The number of bytes is known only now, so the next read waits for them.
        self.rate.pass(bytes as u64);
        Ok(bytes)
    }
}

impl<T: Write> Write for Limited<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rate.pass(bytes.len() as u64);
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
