//! A sorted run of lines, in memory or on scratch.

use super::chunk::Chunk;
use super::stream::Stream;
use crate::store::scratch::BlockAddress;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use xsort_disk::align_up;

/// Bytes of a key that the index keeps.
pub(super) const KEY_BYTES: usize = 64;

/// A block on scratch: whole lines, each with its delimiter; one, if that is longer than blocks
/// are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) place: BlockAddress,
    /// Bytes of its lines.
    pub(super) bytes: u64,
    /// Bytes of what they were compressed to; 0 if they lie there as they are.
    pub(super) packed_bytes: u32,
    pub(super) lines: u32,
    /// Where its last line begins.
    pub(super) last_line: u32,
    /// XXH3 of its pages as written; what of the last one isn't used is zero.
    pub(super) checksum: u64,
    /// The beginning of its first line's normalised key, as words: when to bring it back. Only a
    /// hint.
    pub(super) first_key: [u64; KEY_BYTES / 8],
}

impl Block {
    /// Bytes of its pages on scratch.
    pub(super) fn paged_bytes(&self) -> u64 {
        align_up(if self.is_packed() { u64::from(self.packed_bytes) } else { self.bytes })
    }

    pub(super) fn is_packed(&self) -> bool {
        self.packed_bytes > 0
    }
}

/// A sorted run. Runs are numbered in the order of the input, and equal lines keep that order.
pub(super) enum Run {
    InMemory(Chunk),
    OnScratch(Vec<Block>),
    /// A source whose lines are in order already.
    Sorted(Box<Mutex<Stream>>),
}

impl Run {
    /// How many lines it has; of a source, has had so far.
    pub(super) fn lines(&self) -> u64 {
        match self {
            Run::InMemory(chunk) => chunk.entries_count() as u64,
            Run::OnScratch(blocks) => blocks.iter().map(|block| u64::from(block.lines)).sum(),
            Run::Sorted(stream) => stream.lock().unwrap_or_else(PoisonError::into_inner).lines(),
        }
    }

    /// Its blocks on scratch.
    pub(super) fn blocks(&self) -> &[Block] {
        match self {
            Run::OnScratch(blocks) => blocks,
            Run::InMemory(_) | Run::Sorted(_) => &[],
        }
    }
}
