//! A block of a run: its entry in the index, and its lines in memory.

use crate::Error;
use crate::store::compression::BlockCodec;
use crate::store::scratch::BlockAddress;
use serde::{Deserialize, Serialize};
use xsort_disk::{Lease, align_up};
use xsort_kernels::lines::last_line;

/// Number of key words that the index holds for each block.
pub(super) const KEY_WORDS: usize = 8;

/// The index entry of a block on scratch. The block has whole lines, each with its delimiter, or a
/// single line longer than a block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SpilledBlock {
    pub(super) address: BlockAddress,
    /// Bytes of its lines, uncompressed.
    pub(super) bytes: u64,
    /// The codec of the block; `None` if it isn't compressed.
    pub(super) codec: Option<BlockCodec>,
    /// Compressed size in bytes; 0 if the block isn't compressed.
    pub(super) compressed_bytes: u32,
    pub(super) lines: u32,
    /// Offset of its last line.
    pub(super) last_line: u32,
    /// XXH3 of its pages as written; the unused end of the last page is zero.
    pub(super) checksum: u64,
    /// The first words of its first line's normalised key, which forecast its read. Only a hint,
    /// because lines may be equal for longer.
    pub(super) first_key: [u64; KEY_WORDS],
}

impl SpilledBlock {
    /// Bytes of its pages on scratch.
    pub(super) fn paged_bytes(&self) -> u64 {
        align_up(if self.is_compressed() { u64::from(self.compressed_bytes) } else { self.bytes })
    }

    /// Checks that its numbers are consistent.
    ///
    /// # Errors
    ///
    /// A message about the inconsistency.
    pub(super) fn check(&self) -> Result<(), String> {
        let SpilledBlock { bytes, lines, .. } = *self;
        let is_size = bytes < i64::MAX as u64;
        let is_less = is_size && (!self.is_compressed() || self.paged_bytes() < align_up(bytes));
        let has_lines = (1..=bytes).contains(&lines.into()) && u64::from(self.last_line) < bytes;
        if is_less && has_lines {
            return Ok(());
        }
        Err(format!("a block has {lines} lines in {bytes} bytes"))
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.codec.is_some()
    }
}

/// A block in memory.
#[derive(Debug)]
pub(super) struct LoadedBlock {
    lease: Lease,
    bytes: usize,
    last_line: usize,
}

impl LoadedBlock {
    /// A block whose lines are the first `bytes` bytes of `lease`. The last line begins at
    /// `last_line`.
    pub(super) fn new(lease: Lease, bytes: usize, last_line: usize) -> LoadedBlock {
        LoadedBlock { lease, bytes, last_line }
    }

    /// Checks that the block ends with a delimiter, that the last line begins at its place, and
    /// that a line begins at `offset`. The index and the journal say so, and a merge is cut there.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if a check fails.
    pub(super) fn check(&self, delimiter: u8, offset: usize) -> Result<(), Error> {
        let text = self.text();
        let begins = offset == 0 || offset < text.len() && text[offset - 1] == delimiter;
        let is_last = last_line(text, delimiter).start == self.last_line;
        if begins && is_last && text.last() == Some(&delimiter) {
            return Ok(());
        }
        let last = self.last_line;
        Err(Error::Lost {
            what: format!("lines of a block, at {offset} or the last one, at {last}"),
        })
    }

    /// The block's lines, each with its delimiter.
    pub(super) fn text(&self) -> &[u8] {
        &self.lease[..self.bytes]
    }

    /// The block's last line, without delimiter.
    pub(super) fn last_line(&self) -> &[u8] {
        &self.lease[self.last_line..self.bytes - 1]
    }

    /// All of the block's memory. After its lines there may be the beginning of the next one.
    pub(super) fn memory(&self) -> &[u8] {
        &self.lease
    }
}
