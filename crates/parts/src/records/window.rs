//! The part of a sorted range that is in memory: whole records, counted and summed as they arrive.

use crate::error::Error;
use crate::means::Means;
use std::io::{self, Read};
use std::path::Path;
use xsort_extsort::lines::RangeRead;
use xsort_records::Checksum;

/// Number of blocks that are read ahead of a window.
pub(super) const BLOCKS: usize = 2;

/// A range that is read from its beginning to its end.
pub(super) struct Window {
    read: RangeRead,
    record_bytes: usize,
    /// Bytes of the range that are not in memory yet.
    left: u64,
    memory: Vec<u8>,
    /// The bytes of `memory` whose records have not been taken yet.
    begin: usize,
    end: usize,
    /// Count and sum of the records read so far.
    sum: Checksum,
}

impl Window {
    /// Opens `bytes` bytes at `offset` of the file at `path`, with blocks of `block_bytes` bytes.
    /// The window is as large as the blocks that are read ahead.
    pub(super) fn open(
        means: &Means<'_>,
        path: &Path,
        (offset, bytes): (u64, u64),
        record_bytes: usize,
        block_bytes: usize,
    ) -> Result<Window, Error> {
        let block_bytes = block_bytes.min(bytes.next_multiple_of(4096).max(4096) as usize);
        let read = RangeRead::open(&means.job.disk, path, (offset, bytes), (BLOCKS, block_bytes))?;
        let records = (BLOCKS * block_bytes / record_bytes).max(1);
        Ok(Window {
            read,
            record_bytes,
            left: bytes,
            memory: vec![0; records * record_bytes],
            begin: 0,
            end: 0,
            sum: Checksum::default(),
        })
    }

    /// Returns the records in memory.
    pub(super) fn records(&self) -> &[u8] {
        &self.memory[self.begin..self.end]
    }

    /// Returns whether all of the range has been read.
    pub(super) fn is_last(&self) -> bool {
        self.left == 0
    }

    /// Returns count and sum of all records read so far.
    pub(super) fn sum(&self) -> Checksum {
        self.sum
    }

    /// Takes the first `bytes` bytes in memory.
    pub(super) fn take(&mut self, bytes: usize) {
        assert!(bytes <= self.end - self.begin, "only what is there can be taken");
        self.begin += bytes;
    }

    /// Reads more if half of the window is free.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        if self.is_last() || (self.end - self.begin) * 2 > self.memory.len() {
            return Ok(());
        }
        self.memory.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        let room = (self.memory.len() - self.end) as u64;
        let bytes = room.min(self.left) as usize;
        let new = &mut self.memory[self.end..][..bytes];
        self.read.read_exact(new)?;
        self.sum.add_records(new, self.record_bytes);
        self.end += bytes;
        self.left -= bytes as u64;
        if self.is_last() {
            // At its end a range reports whether it was changed.
            assert_eq!(self.read.read(&mut [0])?, 0, "a range has as many bytes as were asked for");
        }
        Ok(())
    }
}
