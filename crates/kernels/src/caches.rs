//! Cache sizes, to which a sort fits its buckets.
//!
//! Sorting buckets that fit the caches is faster than one sort of everything, whatever the
//! algorithm. So a sort partitions first, and the number of buckets depends on the machine. The
//! caller detects the sizes; a wrong size only costs time.

/// The part of the nearest caches that one thread may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// Size of the first-level data cache in bytes. Buckets are made to fit it.
    pub l1_bytes: usize,
    /// Size of the second-level cache in bytes. Data that fits it is not partitioned.
    pub l2_bytes: usize,
}

impl Default for Caches {
    /// Sizes that nearly every processor of the last ten years reaches.
    fn default() -> Self {
        Caches { l1_bytes: 32 << 10, l2_bytes: 1 << 20 }
    }
}

impl Caches {
    /// True if `bytes` bytes of words and their scratch fit the second level.
    pub(crate) fn hold(self, bytes: usize) -> bool {
        bytes <= self.l2_bytes / 2
    }

    /// The number of bits of a digit that partitions `bytes` bytes of words into buckets that fit
    /// the first level with their scratch.
    pub(crate) fn digit_bits(self, bytes: usize) -> u32 {
        let buckets = bytes.div_ceil((self.l1_bytes / 2).max(1));
        buckets.next_power_of_two().ilog2()
    }
}
