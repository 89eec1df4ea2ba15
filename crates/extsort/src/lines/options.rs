//! What a sort of lines is asked for.

use super::codec::Codec;
use std::path::PathBuf;
use xsort_kernels::Caches;

/// Settings of a sort of lines.
#[derive(Clone, Debug)]
pub struct LinesOptions {
    /// Ends every line.
    pub delimiter: u8,
    /// Only the first of lines with the same key is wanted.
    pub is_unique: bool,
    /// Memory for text, its order, blocks and buffers, in bytes.
    pub budget_bytes: u64,
    /// What of this whoever asks for the sort has taken already, for the names of its inputs and to decompress them.
    pub taken_bytes: u64,
    /// Threads that sort and merge.
    pub threads: usize,
    /// What pieces of a sort in memory are made for.
    pub caches: Caches,
    /// Directories for what doesn't fit.
    pub scratch: Vec<PathBuf>,
    /// How what goes there is compressed.
    pub codec: Option<Codec>,
    /// The regular file that the output writes to, where it does nothing else than that: once the output is flushed it is empty, and lines may be
    /// written to it past the page cache.
    pub output_file: Option<PathBuf>,
}
