//! Settings of a sort of lines.

use super::reservation::Reservation;
use crate::Checkpoint;
use crate::store::compression::Codec;
use std::path::PathBuf;
use xsort_kernels::Caches;

/// Settings of a sort of lines.
#[derive(Clone, Debug)]
pub struct LinesOptions {
    /// The byte that ends every line.
    pub delimiter: u8,
    /// If true, only the first of the lines with the same key is written.
    pub is_unique: bool,
    /// Memory for text, its order, blocks and buffers, in bytes.
    pub budget_bytes: u64,
    /// Shares of the budget that the caller uses, for instance for the names of inputs.
    pub reservation: Reservation,
    /// Threads that sort and merge.
    pub threads: usize,
    /// Sizes of the caches, which set the size of pieces for the sort in memory.
    pub caches: Caches,
    /// Directories for scratch files.
    pub scratch: Vec<PathBuf>,
    /// Compression of blocks on scratch; `None` for none.
    pub codec: Option<Codec>,
    /// The path of the regular file that the output writes to, if the output does nothing else. The
    /// file must be empty after the output is flushed. Lines may then be written to it past the
    /// page cache.
    pub output_file: Option<PathBuf>,
    /// Records finished steps, so that a later process can continue the sort.
    pub checkpoint: Option<LinesCheckpoint>,
}

impl LinesOptions {
    /// Returns settings for lines that end in a line feed, all of which are written. No share of
    /// the budget is reserved. Nothing is compressed, and no scratch directory is named.
    pub fn new(budget_bytes: u64, threads: usize) -> LinesOptions {
        LinesOptions {
            delimiter: b'\n',
            is_unique: false,
            budget_bytes,
            reservation: Reservation::default(),
            threads,
            caches: Caches::default(),
            scratch: Vec::new(),
            codec: None,
            output_file: None,
            checkpoint: None,
        }
    }
}

/// Settings of a resumable sort of lines. Its output is a new file, which replaces the old one when
/// it is complete.
#[derive(Clone, Debug)]
pub struct LinesCheckpoint {
    /// Whether to begin or to resume, and how often to record.
    pub checkpoint: Checkpoint,
    /// Path of the output. The writer that the sort is given is not used.
    pub output: PathBuf,
    /// The inputs' paths, all of regular files.
    pub inputs: Vec<PathBuf>,
    /// Everything that the output depends on besides the inputs. A sort is resumed only if it is
    /// equal.
    pub meaning: String,
}
