//! What a sort of lines is asked for.

use super::reservation::Reservation;
use crate::Checkpoint;
use crate::store::compression::Codec;
use std::path::PathBuf;
use xsort_kernels::Caches;

/// Settings of a sort of lines.
#[derive(Clone, Debug)]
pub struct LinesOptions {
    /// Ends every line.
    pub delimiter: u8,
    /// Of lines with the same key only the first is written.
    pub is_unique: bool,
    /// Memory for text, its order, blocks and buffers, in bytes.
    pub budget_bytes: u64,
    /// What the caller uses of the budget, for the inputs' names and to decompress them.
    pub reservation: Reservation,
    /// Threads that sort and merge.
    pub threads: usize,
    /// Caches for which the sort in memory sizes its pieces.
    pub caches: Caches,
    /// Directories for scratch files.
    pub scratch: Vec<PathBuf>,
    /// How blocks on scratch are compressed, if at all.
    pub codec: Option<Codec>,
    /// A path to the regular file behind the output, if the output does nothing but write to it.
    /// The file is empty once the output is flushed, and lines may be written to it past the page
    /// cache.
    pub output_file: Option<PathBuf>,
    /// Records finished steps, so that a later process can go on with the sort.
    pub checkpoint: Option<LinesCheckpoint>,
}

/// A sort of lines that can be resumed. Its output is a new file, which replaces the old one when
/// it is complete.
#[derive(Clone, Debug)]
pub struct LinesCheckpoint {
    /// Whether to begin or to resume, and how often to record.
    pub checkpoint: Checkpoint,
    /// The output: the writer that the sort is given is not used.
    pub output: PathBuf,
    /// The inputs' paths, all of regular files.
    pub inputs: Vec<PathBuf>,
    /// What the output depends on besides the inputs. A sort is resumed only with the same.
    pub meaning: String,
}
