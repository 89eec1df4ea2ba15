//! The caches that a sort cuts its pieces for.
//!
//! A sort in pieces that fit the caches beats one sort of everything, whatever the algorithm: so
//! cutting into pieces comes first, and how many depends on the machine. Sizes are the caller's to
//! find out, and a wrong one costs time only.

/// What one thread may use of the caches that are nearest to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// Of the first level (data), in bytes: the size that buckets are made for.
    pub l1_bytes: usize,
    /// Of the second level, in bytes: what fits is not cut into buckets.
    pub l2_bytes: usize,
}

impl Default for Caches {
    /// What nearly every processor of the last ten years has at least.
    fn default() -> Self {
        Caches { l1_bytes: 32 << 10, l2_bytes: 1 << 20 }
    }
}

impl Caches {
    /// Whether `bytes` bytes of words fit the second level with their scratch.
    pub(crate) fn hold(self, bytes: usize) -> bool {
        bytes <= self.l2_bytes / 2
    }

    /// Bits of a digit that cuts `bytes` bytes of words into pieces that fit the first level with
    /// their scratch.
    pub(crate) fn digit_bits(self, bytes: usize) -> u32 {
        let pieces = bytes.div_ceil((self.l1_bytes / 2).max(1));
        pieces.next_power_of_two().ilog2()
    }
}
