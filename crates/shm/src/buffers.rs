//! The writer's buffers: their mapped files, and sets of buffers.

use crate::layout::{HEADER_BYTES, Header};
use crate::protocol::BUFFERS_MAX;
use crate::sys::Mapping;

/// A buffer's length is a multiple of this.
const PAGE_BYTES: usize = 4096;

/// Returns the length in bytes of a buffer for `length` bytes and `extra` more. `None` if no file
/// can be that long.
pub(crate) fn buffer_bytes(length: usize, extra: usize) -> Option<usize> {
    (HEADER_BYTES + extra)
        .checked_add(length)
        .and_then(|bytes| bytes.checked_next_multiple_of(PAGE_BYTES))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
}

/// A buffer's file, mapped. Its length never changes: a larger one is a new file.
pub(crate) struct Buffer {
    pub(crate) mapping: Mapping,
}

impl Buffer {
    #[inline]
    pub(crate) fn header(&self) -> &Header {
        self.mapping.at(0)
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.mapping.length() - HEADER_BYTES
    }
}

/// A set of buffer indexes. Every index from `limit` on counts as a member.
pub(crate) struct BufferSet {
    words: [u64; BUFFERS_MAX.div_ceil(64)],
    limit: usize,
}

impl Default for BufferSet {
    fn default() -> BufferSet {
        BufferSet { words: [0; BUFFERS_MAX.div_ceil(64)], limit: 0 }
    }
}

impl BufferSet {
    #[inline]
    pub(crate) fn clear(&mut self, limit: usize) {
        match limit.div_ceil(64) {
            // Usually there are few buffers. A memset of a few words may be a masked store, for
            // which the load in `insert` then waits.
            1 => self.words[0] = 0,
            words => self.words[..words].fill(0),
        }
        self.limit = limit;
    }

    #[inline]
    pub(crate) fn insert(&mut self, index: usize) {
        if index < self.limit {
            self.words[index / 64] |= 1 << (index % 64);
        }
    }

    #[inline]
    pub(crate) fn contains(&self, index: usize) -> bool {
        index >= self.limit || self.words[index / 64] & 1 << (index % 64) != 0
    }
}
