//! The cache sizes that a sort makes its buckets for.
//!
//! Sorting buckets that fit the caches beats one sort of everything, whatever the algorithm. So a
//! sort first partitions, and the number of buckets depends on the machine. The caller finds out
//! the sizes; a wrong one only costs time.

/// How much one thread may use of the caches nearest to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// Of the first level (data), in bytes: the size that buckets are made for.
    pub l1_bytes: usize,
    /// Of the second level, in bytes: what fits is not partitioned.
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

    /// Bits of a digit that partitions `bytes` bytes of words into buckets that fit the first level
    /// with their scratch.
    pub(crate) fn digit_bits(self, bytes: usize) -> u32 {
        let buckets = bytes.div_ceil((self.l1_bytes / 2).max(1));
        buckets.next_power_of_two().ilog2()
    }
}
