//! The alignment that direct I/O requires for offsets, lengths and memory.

/// Alignment in bytes for the offsets, lengths and memory of direct I/O. Every drive's logical
/// block size divides it.
pub const ALIGNMENT: usize = 4096;

/// `bytes` rounded up to a multiple of [`ALIGNMENT`].
pub const fn align_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT as u64)
}

/// `bytes` rounded down to a multiple of [`ALIGNMENT`].
pub const fn align_down(bytes: u64) -> u64 {
    bytes - bytes % ALIGNMENT as u64
}
