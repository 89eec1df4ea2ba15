//! The figures of a file or a tree.

use std::ops::AddAssign;

/// A point in time, counted from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds, rounded down.
    pub seconds: i64,
    /// Nanoseconds to add, below 10^9.
    pub nanoseconds: u32,
}

/// The space that a file takes, or all files of a tree together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of allocated blocks.
    pub allocated_bytes: u64,
    /// Bytes of content: more than allocated in files with holes, less in partly filled blocks.
    pub apparent_bytes: u64,
    /// Number of files of all kinds.
    pub inodes: u64,
    /// The newest time, if [`Options::time`](crate::Options::time) chooses one.
    pub newest: Option<Timestamp>,
}

impl AddAssign for Usage {
    /// Sums saturate at 2^64 - 1, which a few sparse files can exceed.
    fn add_assign(&mut self, other: Usage) {
        self.allocated_bytes = self.allocated_bytes.saturating_add(other.allocated_bytes);
        self.apparent_bytes = self.apparent_bytes.saturating_add(other.apparent_bytes);
        self.inodes = self.inodes.saturating_add(other.inodes);
        self.newest = self.newest.max(other.newest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_take_the_newest_time_and_dont_wrap() {
        let time = |seconds| Some(Timestamp { seconds, nanoseconds: 5 });
        let huge = Usage { apparent_bytes: u64::MAX - 1, newest: time(-3), ..Usage::default() };
        let mut sum = Usage { apparent_bytes: 7, inodes: 1, newest: time(-4), ..Usage::default() };
        sum += huge;
        assert_eq!(
            sum,
            Usage { allocated_bytes: 0, apparent_bytes: u64::MAX, inodes: 1, newest: time(-3) }
        );
        sum += Usage::default();
        assert_eq!(sum.newest, time(-3), "what has no time changes none");
    }
}
