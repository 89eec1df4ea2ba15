//! Target sizes of both methods.

use xsort_disk::ALIGNMENT;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const PAGE: u64 = ALIGNMENT as u64;

/// Transfers of 1 MiB reach a drive's rate. Larger ones measured no better.
pub(crate) const BLOCK_BYTES_MAX: u64 = MIB;
/// Larger chunks don't sort faster; they only make the pipeline coarser.
pub(crate) const CHUNK_BYTES_EASY: u64 = 128 * MIB;
/// The largest easy chunk, in bytes, if records are moved into order. Smaller chunks cause fewer
/// cache misses.
pub(crate) const ARRANGED_CHUNK_BYTES_EASY: u64 = 16 * MIB;
/// The smallest chunk, in bytes, that is worth a thread.
pub(crate) const CHUNK_BYTES_MIN: u64 = 256 * KIB;
/// Bytes in flight or queued that keep a drive busy, both for read-ahead and for write-behind. 32
/// MiB instead of 8 take a fifteenth to a tenth less time in 1 GiB on a drive that answers in
/// batches (docs/experiments/2026-11-26-batches.md).
pub(crate) const FLIGHT_BYTES: u64 = 32 * MIB;

/// Number of pages for the seams of an output that `threads` threads write: two for each segment in
/// flight, and some for writes in flight.
pub(crate) fn seam_pages(threads: u64) -> u64 {
    2 * (threads + 2) + 8
}

/// Numbers of threads to try, from `wanted` down to one.
pub(crate) fn thread_counts(wanted: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(wanted.max(1)), |&threads| (threads > 1).then_some(threads / 2))
}
