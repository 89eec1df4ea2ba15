//! Turns the buffers of keyed records into a stream for the engine.

use super::watch::Watch;
use crate::Observer;
use crate::job::failure::STOP_INTERVAL;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::io::{self, Read};
use std::sync::Arc;

/// Reads the buffers that pushers send, up to an empty one. A stream that ends without one was
/// abandoned, which is an error.
pub(super) struct PushedStream {
    pub(super) buffers: Receiver<Vec<u8>>,
    /// Takes empty buffers for reuse.
    pub(super) free: Sender<Vec<u8>>,
    pub(super) watch: Arc<Watch>,
    current: Vec<u8>,
    taken: usize,
    is_over: bool,
}

impl PushedStream {
    pub(super) fn new(
        buffers: Receiver<Vec<u8>>,
        free: Sender<Vec<u8>>,
        watch: Arc<Watch>,
    ) -> PushedStream {
        PushedStream { buffers, free, watch, current: Vec::new(), taken: 0, is_over: false }
    }

    /// Goes to the next buffer. Returns false at the end.
    fn next_buffer(&mut self) -> io::Result<bool> {
        let mut done = std::mem::take(&mut self.current);
        self.taken = 0;
        if done.capacity() > 0 {
            done.clear();
            // Pushers may be gone.
            drop(self.free.send(done));
        }
        loop {
            if self.is_over {
                return Ok(false);
            }
            if self.watch.is_cancelled() {
                return Err(io::Error::other("stopped on request"));
            }
            match self.buffers.recv_timeout(STOP_INTERVAL) {
                Ok(buffer) if buffer.is_empty() => self.is_over = true,
                Ok(buffer) => {
                    self.current = buffer;
                    return Ok(true);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("abandoned before its end"));
                }
            }
        }
    }
}

impl Read for PushedStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.current.len() && !self.next_buffer()? {
            return Ok(0);
        }
        let rest = &self.current[self.taken..];
        let bytes = rest.len().min(out.len());
        out[..bytes].copy_from_slice(&rest[..bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}
