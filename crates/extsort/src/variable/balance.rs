//! What was read must have been written, or dropped because it was not wanted: sums of the lines'
//! hashes, on both sides.
//!
//! Lines are hashed where they are found, before they are sorted, and again where the merge writes
//! them. In between they may have been to scratch and back, several times.

use crate::Error;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Sums of hashes, modulo 2^64. Each thread adds its own; only the end counts.
#[derive(Debug, Default)]
pub(super) struct Balance {
    read: AtomicU64,
    gone: AtomicU64,
}

impl Balance {
    /// Lines that came in.
    pub(super) fn read(&self, sum: u64) {
        self.read.fetch_add(sum, Relaxed);
    }

    /// Lines that were written to the output.
    pub(super) fn written(&self, sum: u64) {
        self.gone.fetch_add(sum, Relaxed);
    }

    /// Lines that are not wanted.
    pub(super) fn dropped(&self, sum: u64) {
        self.gone.fetch_add(sum, Relaxed);
    }

    /// The sum of the lines that were written or are not wanted, so far.
    pub(super) fn gone(&self) -> u64 {
        self.gone.load(Relaxed)
    }

    /// When all threads are done: the sum of both sides.
    pub(super) fn close(&self) -> Result<u64, Error> {
        let (read, gone) = (self.read.load(Relaxed), self.gone.load(Relaxed));
        if read == gone {
            return Ok(read);
        }
        Err(Error::LostLines { read, written: gone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_missing_or_another_is_noticed() {
        let lines: [&[u8]; 3] = [b"one", b"two", b"a line of more than sixteen bytes"];
        let sum = |lines: &[&[u8]]| {
            lines.iter().fold(0u64, |sum, line| {
                sum.wrapping_add(xsort_kernels::lines::line_hash(line, line.len()))
            })
        };
        for (written, is_whole) in [
            (&lines[..2], true),
            (&lines[..1], false),
            (&[lines[0], b"tow"], false),
            (&[lines[1], lines[1]], false),
        ] {
            let balance = Balance::default();
            balance.read(sum(&lines));
            balance.dropped(sum(&lines[2..]));
            balance.written(sum(written));
            assert_eq!(balance.close().is_ok(), is_whole, "{written:?}");
        }
    }
}
