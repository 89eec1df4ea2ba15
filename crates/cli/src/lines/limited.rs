//! What is read and written past the disk's engine, held to the rate that `--bandwidth-limit`
//! allows.

use super::failure::Failure;
use crate::args::size;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::sync::Arc;
use xsort_disk::RateLimit;

/// The rate that an argument says.
pub(super) fn rate(argument: &OsStr) -> Result<NonZeroU64, Failure> {
    let text = argument.to_string_lossy();
    size::rate(&text).map_err(|error| {
        let name = super::names::quoted(argument);
        Failure::Message(
            [
                b"invalid --bandwidth-limit argument ",
                &name[..],
                b": ",
                error.to_string().as_bytes(),
            ]
            .concat(),
        )
    })
}

/// A file that is read or written no faster than allowed.
pub(super) struct Limited<T> {
    inner: T,
    rate: Arc<RateLimit>,
}

impl<T> Limited<T> {
    pub(super) fn new(inner: T, rate: Arc<RateLimit>) -> Limited<T> {
        Limited { inner, rate }
    }
}

impl<T: Read> Read for Limited<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        // Who knows before how much there will be? The next one waits for it.
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
