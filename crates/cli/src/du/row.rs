//! The content of a line, and the orders of lines.

use std::cmp::Ordering;
use xsort_gnu::du::Measure;
use xsort_usage::Usage;

/// A file or directory that is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) path: Vec<u8>,
    pub(super) depth: usize,
    pub(super) is_directory: bool,
    /// The number of files directly in the directory, without subdirectories.
    pub(super) files: u64,
    pub(super) usage: Usage,
    /// The figure of the usage that is printed and ranked.
    pub(super) figure: u64,
}

/// A file, an object or a directory that is counted completely.
pub(super) struct Found {
    /// The depth below the argument, which has depth 0.
    pub(super) depth: usize,
    pub(super) is_directory: bool,
    /// The number of files directly in a directory.
    pub(super) files: u64,
    /// The usage without subdirectories.
    pub(super) own: Usage,
    pub(super) total: Usage,
}

/// The figure of a usage that the options choose.
pub(super) fn figure(usage: &Usage, measure: Measure) -> u64 {
    match measure {
        Measure::Allocated => usage.allocated_bytes,
        Measure::Apparent => usage.apparent_bytes,
        Measure::Inodes => usage.inodes,
    }
}

/// Orders paths by bytes, except that a directory is directly followed by its entries.
pub(super) fn by_path(one: &[u8], other: &[u8]) -> Ordering {
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 };
    one.iter().map(rank).cmp(other.iter().map(rank))
}

/// Orders rows by figure, the largest first; rows with equal figures by path.
pub(super) fn by_size(one: &Row, other: &Row) -> Ordering {
    other.figure.cmp(&one.figure).then_with(|| by_path(&one.path, &other.path))
}
