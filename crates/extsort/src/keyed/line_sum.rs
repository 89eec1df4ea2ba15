//! Sums the hashes of the written lines, after every step that could change them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_kernels::lines::line_hash;

/// Hashes the lines of a segment, which come in pieces of any length.
pub(super) struct LineSum {
    delimiter: u8,
    /// The beginning of a line whose end is still to come.
    begun: Vec<u8>,
    sum: u64,
    /// The sum over all segments.
    total: Arc<AtomicU64>,
}

impl LineSum {
    pub(super) fn new(delimiter: u8, total: Arc<AtomicU64>) -> LineSum {
        LineSum { delimiter, begun: Vec::new(), sum: 0, total }
    }

    /// Adds a whole line, the first `bytes` bytes of `tail`.
    #[inline]
    pub(super) fn take_line(&mut self, tail: &[u8], bytes: usize) {
        self.sum = self.sum.wrapping_add(line_hash(tail, bytes));
    }

    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        if !self.begun.is_empty()
            && let Some(end) = memchr::memchr(self.delimiter, bytes)
        {
            self.begun.extend_from_slice(&bytes[..end]);
            self.sum = self.sum.wrapping_add(line_hash(&self.begun, self.begun.len()));
            self.begun.clear();
            bytes = &bytes[end + 1..];
        }
        let mut from = 0;
        for end in memchr::memchr_iter(self.delimiter, bytes) {
            self.sum = self.sum.wrapping_add(line_hash(&bytes[from..], end - from));
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
