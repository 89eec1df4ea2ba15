//! Sums the hashes of the written lines, after every step that could change them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_kernels::lines::line_hash;

/// Hashes the lines of a segment, which come in pieces of any length.
pub(super) struct LineSum {
    /// The beginning of a line whose end is still to come.
    begun: Vec<u8>,
    sum: u64,
    /// The sum over all segments.
    total: Arc<AtomicU64>,
}

impl LineSum {
    pub(super) fn new(total: Arc<AtomicU64>) -> LineSum {
        LineSum { begun: Vec::new(), sum: 0, total }
    }

    /// Adds a whole line, the first `bytes` bytes of `tail`.
    #[inline]
    pub(super) fn take_line(&mut self, tail: &[u8], bytes: usize) {
        self.sum = self.sum.wrapping_add(line_hash(tail, bytes));
    }

    /// Adds a piece. `ends` are the places of the delimiters that end lines.
    pub(super) fn take(&mut self, bytes: &[u8], ends: &[usize]) {
        let mut from = 0;
        for &end in ends {
            if self.begun.is_empty() {
                self.take_line(&bytes[from..], end - from);
            } else {
                self.begun.extend_from_slice(&bytes[from..end]);
                let line = std::mem::take(&mut self.begun);
                self.take_line(&line, line.len());
            }
            from = end + 1;
        }
        self.begun.extend_from_slice(&bytes[from..]);
    }
}

impl Drop for LineSum {
    fn drop(&mut self) {
        self.total.fetch_add(self.sum, Relaxed);
    }
}
