//! A file read several blocks ahead of whoever wants its bytes, past the page cache.
//!
//! What is sorted once is of no use to a cache, and going through it costs a processor more than
//! all else that is done to a long line.

use crate::Error;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{BlockPool, Completion, Direction, Disk, FileId, Lease, Request, align_up};

/// A file, and its blocks that are there or on their way.
pub(crate) struct ReadAhead<'j> {
    disk: &'j dyn Disk,
    file: FileId,
    /// Its length in bytes.
    bytes: u64,
    block_pool: Arc<BlockPool>,
    /// Up to where it was asked for.
    asked: u64,
    /// Blocks in the order of the file.
    blocks: VecDeque<Option<Lease>>,
    /// Where the first of them begins, and what of it was read.
    offset: u64,
    taken: usize,
    done_to: Sender<Completion>,
    done_from: Receiver<Completion>,
}

impl<'j> ReadAhead<'j> {
    /// Of the file at `path`, with blocks from `block_pool`, of which it takes as many as there
    /// are.
    pub(crate) fn open(
        disk: &'j dyn Disk,
        path: &Path,
        block_pool: Arc<BlockPool>,
    ) -> Result<ReadAhead<'j>, Error> {
        let file = disk.open_input(path)?;
        let (done_to, done_from) = unbounded();
        let blocks = VecDeque::with_capacity(block_pool.capacity());
        let mut ahead = ReadAhead {
            disk,
            file,
            bytes: 0,
            block_pool,
            asked: 0,
            blocks,
            offset: 0,
            taken: 0,
            done_to,
            done_from,
        };
        ahead.bytes = disk.file_bytes(file)?;
        Ok(ahead)
    }

    /// Passes over blocks that end within the next `bytes` bytes, and says how many bytes that
    /// were. To be called before the first read.
    pub(crate) fn skip(&mut self, bytes: u64) -> u64 {
        let block_bytes = self.block_pool.block_bytes() as u64;
        // At least one byte is left, so that whoever reads sees how the file ends.
        let skipped = bytes.min(self.bytes.saturating_sub(1)) / block_bytes * block_bytes;
        if self.asked == 0 {
            (self.offset, self.asked) = (skipped, skipped);
            return skipped;
        }
        0
    }

    /// Reads up to `buffer.len()` bytes; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            self.ask();
            let block_bytes = self.block_bytes(self.offset);
            match self.blocks.front() {
                None => {
                    // Were there no block to read on with, this would pass for the end, and lines
                    // would be lost in silence.
                    assert_eq!(
                        self.offset, self.bytes,
                        "all blocks are there when a file is opened"
                    );
                    return Ok(0);
                }
                Some(None) => self.wait()?,
                Some(Some(block)) => {
                    let left = &block[self.taken..block_bytes];
                    let bytes = left.len().min(buffer.len());
                    buffer[..bytes].copy_from_slice(&left[..bytes]);
                    self.taken += bytes;
                    if self.taken == block_bytes {
                        self.blocks.pop_front();
                        self.offset += block_bytes as u64;
                        self.taken = 0;
                    }
                    return Ok(bytes);
                }
            }
        }
    }

    /// Bytes of the file in the block at `offset`.
    fn block_bytes(&self, offset: u64) -> usize {
        (self.bytes - offset).min(self.block_pool.block_bytes() as u64) as usize
    }

    fn ask(&mut self) {
        while self.asked < self.bytes
            && let Some(lease) = self.block_pool.try_take()
        {
            let bytes_needed = self.block_bytes(self.asked);
            self.disk.submit(Request {
                direction: Direction::Read,
                file: self.file,
                offset: self.asked,
                bytes: align_up(bytes_needed as u64) as usize,
                bytes_needed,
                lease,
                tag: 0,
                reply: self.done_to.clone(),
            });
            self.blocks.push_back(None);
            self.asked += bytes_needed as u64;
        }
    }

    fn wait(&mut self) -> Result<(), Error> {
        let completion = self.done_from.recv().expect("this end holds a sender");
        completion.result?;
        let at = (completion.offset - self.offset) / self.block_pool.block_bytes() as u64;
        self.blocks[at as usize] = Some(completion.lease);
        Ok(())
    }
}

impl Drop for ReadAhead<'_> {
    fn drop(&mut self) {
        self.disk.close(self.file);
    }
}
