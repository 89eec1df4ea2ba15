//! Reads inputs on a thread of its own, so that a pause of an input is noticed.
//!
//! A read of a pipe waits until there are bytes. The thread waits instead of the sort, which can
//! pass on what may leave meanwhile. Nobody waits for the thread: if the sort fails, the thread
//! ends with its next read, or with the process.

use super::super::input::{InputReader, LinesInput};
use crate::{Error, Observer};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// Blocks between the two threads.
const BLOCKS: usize = 4;
/// Most blocks in memory: one is being filled, one is taken.
pub(super) const BLOCKS_MAX: u64 = BLOCKS as u64 + 2;
/// How often the sort looks whether it should stop while it waits.
const PATIENCE: Duration = Duration::from_millis(100);

/// Bytes of one input.
pub(super) struct Block {
    /// The input's path, if this is its first block.
    pub(super) path: Option<PathBuf>,
    pub(super) bytes: Vec<u8>,
}

/// What came next.
pub(super) enum Arrival {
    Block(Block),
    /// Nothing has come until the deadline.
    Pause,
    /// The end of all inputs.
    End,
}

/// The blocks of all inputs, one after the other.
pub(super) struct Arrivals {
    blocks: Receiver<Result<Option<Block>, Error>>,
    is_over: bool,
}

impl Arrivals {
    /// Starts to read. Each read is of at most `block_bytes` bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if the system allows no further thread.
    pub(super) fn start(
        inputs: Vec<LinesInput>,
        delimiter: u8,
        block_bytes: usize,
    ) -> Result<Arrivals, Error> {
        let (to, blocks) = bounded(BLOCKS);
        let reader = InputReader::new(inputs, delimiter, None);
        let read = move || read_all(reader, block_bytes, &to);
        thread::Builder::new().name("xsort-read".into()).spawn(read).map_err(|error| {
            Error::Settings(format!("no thread can be started to read the input: {error}"))
        })?;
        Ok(Arrivals { blocks, is_over: false })
    }

    /// Waits for the next block; with a deadline, until then. What has come already is returned
    /// even after the deadline.
    ///
    /// # Errors
    ///
    /// If an input can't be read, or the observer asks to stop.
    pub(super) fn next(
        &mut self,
        deadline: Option<Instant>,
        observer: &dyn Observer,
    ) -> Result<Arrival, Error> {
        if self.is_over {
            return Ok(Arrival::End);
        }
        loop {
            if observer.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let wait = match deadline {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()).min(PATIENCE),
                None => PATIENCE,
            };
            let received = match wait.is_zero() {
                true => self.blocks.try_recv().map_err(|error| error == TryRecvError::Empty),
                false => self
                    .blocks
                    .recv_timeout(wait)
                    .map_err(|error| error == RecvTimeoutError::Timeout),
            };
            match received {
                Ok(Ok(Some(block))) => {
                    observer.advance(block.bytes.len() as u64);
                    return Ok(Arrival::Block(block));
                }
                Ok(Ok(None)) => {
                    self.is_over = true;
                    return Ok(Arrival::End);
                }
                Ok(Err(error)) => return Err(error),
                Err(true) if wait.is_zero() => return Ok(Arrival::Pause),
                Err(true) => {}
                Err(false) => return Err(Error::Panicked),
            }
        }
    }
}

/// The bytes of a line whose end isn't there yet, once it is found; `begun` of them are there.
pub(super) fn line_bytes(
    begun: usize,
    delimiter: u8,
    arrivals: &mut Arrivals,
    observer: &dyn Observer,
) -> Result<u64, Error> {
    let mut bytes = begun as u64;
    loop {
        match arrivals.next(None, observer)? {
            Arrival::Block(block) => match memchr::memchr(delimiter, &block.bytes) {
                Some(end) => return Ok(bytes + end as u64 + 1),
                None => bytes += block.bytes.len() as u64,
            },
            Arrival::Pause => {}
            Arrival::End => return Ok(bytes),
        }
    }
}

/// Reads blocks until the end, an error, or until they are no longer wanted.
fn read_all(
    mut reader: InputReader<'_>,
    block_bytes: usize,
    to: &Sender<Result<Option<Block>, Error>>,
) {
    let mut opened = 0;
    let mut buffer = vec![0; block_bytes];
    loop {
        let read = reader.read(&mut buffer).map(|bytes| {
            let is_new = opened < reader.opened();
            opened = reader.opened();
            let path = is_new.then(|| reader.path().to_owned());
            (bytes > 0).then(|| Block { path, bytes: buffer[..bytes].to_vec() })
        });
        let is_last = !matches!(read, Ok(Some(_)));
        if to.send(read).is_err() || is_last {
            return;
        }
    }
}
