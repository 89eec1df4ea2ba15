//! Read-ahead: a sequential file, read past the page cache several blocks before its bytes are
//! used.
//!
//! A file that is sorted once gains nothing from the cache. Copying through the cache costs more
//! processor time than all other work on a long line.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xsort_disk::{
    BlockPool, Completion, Direction, Disk, Error, FileId, FileIdentity, InputFiles, Lease,
    Request, align_up, is_url,
};

/// A file, and its blocks that are in memory or being read. The disk is borrowed or shared.
pub(crate) struct ReadAhead<D: Deref<Target: Disk>> {
    disk: D,
    file: FileId,
    /// Length of the file in bytes.
    bytes: u64,
    block_pool: Arc<BlockPool>,
    /// Offset up to which reads were submitted.
    submitted: u64,
    /// True once all reads are submitted: no more blocks are taken.
    is_all_submitted: Arc<AtomicBool>,
    /// Blocks in the order of the file; `None` while a block is being read.
    blocks: VecDeque<Option<Lease>>,
    /// Where the first block begins, and how many of its bytes were taken.
    offset: u64,
    taken: usize,
    done_to: Sender<Completion>,
    done_from: Receiver<Completion>,
    /// True if the file must be unchanged at its end: the requests for an object may have read two
    /// versions of it.
    is_checked: bool,
}

impl<D: Deref<Target: Disk>> ReadAhead<D> {
    /// Opens the file at `path`. It uses all free blocks of `block_pool`.
    pub(crate) fn open(disk: D, path: &Path, block_pool: Arc<BlockPool>) -> Result<Self, Error> {
        let file = disk.open_input(path)?;
        let (done_to, done_from) = unbounded();
        let blocks = VecDeque::with_capacity(block_pool.capacity());
        let mut ahead = ReadAhead {
            disk,
            file,
            bytes: 0,
            block_pool,
            submitted: 0,
            is_all_submitted: Arc::default(),
            blocks,
            offset: 0,
            taken: 0,
            done_to,
            done_from,
            is_checked: is_url(path),
        };
        ahead.bytes = ahead.disk.file_bytes(file)?;
        Ok(ahead)
    }

    /// Skips the blocks that end within the next `bytes` bytes. Returns the number of skipped
    /// bytes. Must be called before the first read.
    pub(crate) fn skip(&mut self, bytes: u64) -> u64 {
        let block_bytes = self.block_pool.block_bytes() as u64;
        // At least one byte is left, so that the reader reaches the end of the file.
        let skipped = bytes.min(self.bytes.saturating_sub(1)) / block_bytes * block_bytes;
        if self.submitted == 0 {
            (self.offset, self.submitted) = (skipped, skipped);
            return skipped;
        }
        0
    }

    /// Reads up to `end` only. Must be called before the first read. Returns the file's length.
    pub(crate) fn end_at(&mut self, end: u64) -> u64 {
        let bytes = self.bytes;
        self.bytes = bytes.min(end);
        bytes
    }

    /// The identity of the file.
    pub(crate) fn identity(&self) -> Result<FileIdentity, Error> {
        self.disk.identity(self.file)
    }

    /// Submits a read for each free block, before the first byte is taken.
    pub(crate) fn begin(&mut self) {
        self.submit_reads();
    }

    /// A flag that is set once all reads are submitted and no more blocks are taken.
    pub(crate) fn all_submitted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_all_submitted)
    }

    fn read_blocks(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            self.submit_reads();
            let block_bytes = self.block_bytes(self.offset);
            match self.blocks.front() {
                None => {
                    // Without a block to read into, this would look like the end of the file, and
                    // lines would be lost silently.
                    assert_eq!(
                        self.offset, self.bytes,
                        "all blocks are there when a file is opened"
                    );
                    if std::mem::take(&mut self.is_checked)
                        && !self.disk.is_of_one_version(self.file)
                    {
                        self.disk.check_unchanged(self.file)?;
                    }
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

    fn submit_reads(&mut self) {
        while self.submitted < self.bytes
            && let Some(lease) = self.block_pool.try_take()
        {
            let bytes_needed = self.block_bytes(self.submitted);
            self.disk.submit(Request {
                direction: Direction::Read,
                file: self.file,
                offset: self.submitted,
                bytes: align_up(bytes_needed as u64) as usize,
                bytes_needed,
                lease,
                tag: 0,
                reply: self.done_to.clone(),
            });
            self.blocks.push_back(None);
            self.submitted += bytes_needed as u64;
        }
        if self.submitted == self.bytes {
            self.is_all_submitted.store(true, Ordering::Relaxed);
        }
    }

    fn wait(&mut self) -> Result<(), Error> {
        let completion = self.done_from.recv().expect("this end holds a sender");
        completion.result?;
        let index = (completion.offset - self.offset) / self.block_pool.block_bytes() as u64;
        self.blocks[index as usize] = Some(completion.lease);
        Ok(())
    }
}

impl<D: Deref<Target: Disk>> Read for ReadAhead<D> {
    /// Wraps an error of the disk in an [`io::Error`].
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_blocks(buffer).map_err(io::Error::other)
    }
}

impl<D: Deref<Target: Disk>> Drop for ReadAhead<D> {
    fn drop(&mut self) {
        self.disk.close(self.file);
    }
}
