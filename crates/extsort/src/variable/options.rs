//! What a sort of lines is asked for.

use super::codec::Codec;
use crate::Checkpoint;
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
    /// What of this whoever asks for the sort has taken already, for the names of its inputs and to
    /// decompress them.
    pub taken_bytes: u64,
    /// Threads that sort and merge.
    pub threads: usize,
    /// What pieces of a sort in memory are made for.
    pub caches: Caches,
    /// Directories for what doesn't fit.
    pub scratch: Vec<PathBuf>,
    /// How what goes there is compressed.
    pub codec: Option<Codec>,
    /// The regular file that the output writes to, where it does nothing else than that: once the
    /// output is flushed it is empty, and lines may be written to it past the page cache.
    pub output_file: Option<PathBuf>,
    /// Keep what is finished, so that a later process can go on with it.
    pub checkpoint: Option<LinesCheckpoint>,
}

/// A sort of lines that can be resumed. Its output goes to a new file, which takes the place of the
/// old one when it is complete.
#[derive(Clone, Debug)]
pub struct LinesCheckpoint {
    /// How it is kept.
    pub checkpoint: Checkpoint,
    /// The output, instead of what lines are written to else.
    pub output: PathBuf,
    /// The sources, all of them regular files.
    pub inputs: Vec<PathBuf>,
    /// What the arguments mean, as far as the output depends on it.
    pub meaning: String,
}
