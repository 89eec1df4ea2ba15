//! Passes the engine's output on in blocks, and reads the keyed records from them.

use super::watch::Watch;
use crate::Observer;
use crate::job::failure::STOP_INTERVAL;
use crate::keyed::RECORD_END;
use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded, unbounded};
use std::io::{self, Write};
use std::sync::Arc;

/// Returns the two ends of a queue of blocks: `bytes` bytes each, of which `waiting` may wait.
pub(super) fn blocks(bytes: usize, waiting: usize, watch: Arc<Watch>) -> (BlockWriter, Blocks) {
    let (to, from) = bounded(waiting);
    let (free_to, free) = unbounded();
    let writer = BlockWriter { to, free, block: Vec::new(), bytes, watch };
    let taken =
        Blocks { from: Some(from), free: free_to, block: Vec::new(), at: 0, joined: Vec::new() };
    (writer, taken)
}

/// Takes the engine's output and sends it in blocks.
pub(super) struct BlockWriter {
    to: Sender<Vec<u8>>,
    /// Empty blocks for reuse.
    free: Receiver<Vec<u8>>,
    /// The block that is being filled.
    block: Vec<u8>,
    bytes: usize,
    watch: Arc<Watch>,
}

impl Write for BlockWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.block.capacity() == 0 {
            let fresh = || Vec::with_capacity(self.bytes);
            self.block = self.free.try_recv().unwrap_or_else(|_| fresh());
        }
        let own = bytes.len().min(self.bytes - self.block.len());
        self.block.extend_from_slice(&bytes[..own]);
        if self.block.len() == self.bytes {
            self.flush()?;
        }
        Ok(own)
    }

    /// Waits until there is room for the block. Fails if the sort is to stop.
    fn flush(&mut self) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.block);
        while !block.is_empty() {
            match self.to.send_timeout(block, STOP_INTERVAL) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) if !self.watch.is_cancelled() => block = back,
                Err(_) => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(())
    }
}

/// Reads keyed records from blocks. A record may span blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    /// `None` once no more records are read.
    from: Option<Receiver<Vec<u8>>>,
    free: Sender<Vec<u8>>,
    block: Vec<u8>,
    /// Bytes of the block that have been read.
    at: usize,
    /// A record that spans several blocks.
    joined: Vec<u8>,
}

impl Blocks {
    /// Returns the next keyed record, without the byte that ends it; `None` if the engine has
    /// ended.
    pub(super) fn next_keyed(&mut self) -> Option<&mut [u8]> {
        let from = self.at;
        if let Some(bytes) = memchr::memchr(RECORD_END, &self.block[from..]) {
            self.at += bytes + 1;
            return Some(&mut self.block[from..from + bytes]);
        }
        self.joined.clear();
        loop {
            self.joined.extend_from_slice(&self.block[self.at..]);
            self.next_block()?;
            if let Some(bytes) = memchr::memchr(RECORD_END, &self.block) {
                self.joined.extend_from_slice(&self.block[..bytes]);
                self.at = bytes + 1;
                return Some(&mut self.joined);
            }
        }
    }

    /// Closes the queue. The engine's next write fails.
    pub(super) fn close(&mut self) {
        self.from = None;
    }

    fn next_block(&mut self) -> Option<()> {
        let mut done = std::mem::take(&mut self.block);
        self.at = 0;
        if done.capacity() > 0 {
            done.clear();
            // The engine may be gone.
            drop(self.free.send(done));
        }
        self.block = self.from.as_ref()?.recv().ok()?;
        Some(())
    }
}
