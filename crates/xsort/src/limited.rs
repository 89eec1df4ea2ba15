//! The bandwidth limit of what doesn't pass the disk.

use std::io::{self, Read, Write};
use std::sync::Arc;
use xsort_disk::RateLimit;
use xsort_extsort::variable::LinesInput;

/// Something that is read or written no faster than allowed, without passing the disk.
pub struct Limited<T> {
    inner: T,
    rate: Arc<RateLimit>,
}

impl<T> Limited<T> {
    /// `inner`, held to `rate`.
    pub fn new(inner: T, rate: Arc<RateLimit>) -> Limited<T> {
        Limited { inner, rate }
    }
}

/// An input held to the rate, if there is one, where it doesn't pass the disk.
pub fn limited_input(input: LinesInput, rate: Option<&Arc<RateLimit>>) -> LinesInput {
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
        // How many bytes there are is known only now: the next read waits for them.
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
