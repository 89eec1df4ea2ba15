//! The journal's summary of chunks, with which a later process continues without reading them.

use super::super::chunk::{Chunk, HashSums};
use serde::{Deserialize, Serialize};

/// The journal's summary of the chunks of a run, besides its blocks: lines and bytes as read, and
/// sums of the lines' hashes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ChunkSummary {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    pub(crate) read_sum: u64,
    pub(crate) dropped_sum: u64,
}

impl ChunkSummary {
    pub(crate) fn new(chunk: &Chunk, sums: HashSums) -> ChunkSummary {
        ChunkSummary {
            lines: chunk.lines() as u64,
            bytes: chunk.text_bytes() as u64,
            read_sum: sums.read,
            dropped_sum: sums.dropped,
        }
    }

    /// Adds the summaries of other chunks.
    pub(crate) fn and(self, other: ChunkSummary) -> ChunkSummary {
        ChunkSummary {
            lines: self.lines + other.lines,
            bytes: self.bytes + other.bytes,
            read_sum: self.read_sum.wrapping_add(other.read_sum),
            dropped_sum: self.dropped_sum.wrapping_add(other.dropped_sum),
        }
    }
}
