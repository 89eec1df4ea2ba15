//! Checks that no line is lost or changed: the lines read must equal the lines written or dropped
//! as duplicates. Sums of their hashes are compared, which don't depend on the order.
//!
//! Lines are hashed when their ends are found, before they are sorted, and again when the last
//! merge takes them. In between they may have been on scratch several times.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Sums of hashes, modulo 2^64. Each thread adds its own sums; they are compared at the end.
#[derive(Debug, Default)]
pub(super) struct Balance {
    read: AtomicU64,
    written_or_dropped: AtomicU64,
}

impl Balance {
    /// Adds lines that were read.
    pub(super) fn read(&self, sum: u64) {
        self.read.fetch_add(sum, Relaxed);
    }

    /// Sets both sums to zero.
    pub(super) fn forget(&self) {
        self.read.store(0, Relaxed);
        self.written_or_dropped.store(0, Relaxed);
    }

    /// Adds lines that were written to the output.
    pub(super) fn written(&self, sum: u64) {
        self.written_or_dropped.fetch_add(sum, Relaxed);
    }

    /// Adds lines that were dropped as duplicates.
    pub(super) fn dropped(&self, sum: u64) {
        self.written_or_dropped.fetch_add(sum, Relaxed);
    }

    /// Sum of the lines that were written or dropped so far.
    pub(super) fn written_or_dropped(&self) -> u64 {
        self.written_or_dropped.load(Relaxed)
    }

    /// Both sums. They are equal once all threads are done.
    pub(super) fn sums(&self) -> [u64; 2] {
        [self.read.load(Relaxed), self.written_or_dropped()]
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
            let [read, written] = balance.sums();
            assert_eq!(read == written, is_whole, "{written:?}");
        }
    }
}
