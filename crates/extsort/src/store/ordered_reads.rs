//! Several reads in flight, whose bytes arrive in the order in which the reads were submitted.
//!
//! For reads before or between the phases of a job: the drive stays busy, and the caller is as
//! simple as if it read a file from beginning to end.

use crate::job::failure::STOP_INTERVAL;
use crate::job::traffic::Traffic;
use crate::{Error, Observer};
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use std::collections::VecDeque;
use xsort_disk::{Completion, Direction, Disk, FileId, Lease, Request, align_up};

/// A range of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileRange {
    pub(crate) file: FileId,
    /// Offset of the first byte; a multiple of the alignment.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) bytes: usize,
}

/// Reads ranges of files. Each buffer holds one read in flight.
pub(crate) struct OrderedReads<'a> {
    pub(crate) disk: &'a dyn Disk,
    /// Counts the reads.
    pub(crate) traffic: &'a Traffic,
    /// Fails if the job should stop. Called before each `take` and while waiting.
    pub(crate) check_stop: &'a dyn Fn() -> Result<(), Error>,
}

impl OrderedReads<'_> {
    /// Reads all `ranges`, and passes the bytes of each, with its item, to `take`. Returns the
    /// buffers. Each buffer must hold the pages of any range.
    ///
    /// # Errors
    /// The first error of a read, `take` or `check_stop`. Reads still in flight then own their
    /// buffers and complete on their own.
    pub(crate) fn run<T>(
        &self,
        mut buffers: Vec<Lease>,
        ranges: impl Iterator<Item = (FileRange, T)>,
        mut take: impl FnMut(T, &[u8]) -> Result<(), Error>,
    ) -> Result<Vec<Lease>, Error> {
        let mut ranges = ranges.peekable();
        debug_assert!(!buffers.is_empty() || ranges.peek().is_none(), "nothing would be read");
        let mut in_flight = VecDeque::with_capacity(buffers.len());
        loop {
            while ranges.peek().is_some()
                && let Some(buffer) = buffers.pop()
                && let Some((range, item)) = ranges.next()
            {
                in_flight.push_back((self.submit(range, buffer), range.bytes, item));
            }
            let Some((completed, bytes, item)) = in_flight.pop_front() else { return Ok(buffers) };
            let completion = self.wait(&completed)?;
            self.traffic.finish(&completion);
            completion.result?;
            (self.check_stop)()?;
            take(item, &completion.lease[..bytes])?;
            buffers.push(completion.lease);
        }
    }

    fn submit(&self, range: FileRange, lease: Lease) -> Receiver<Completion> {
        let (reply, completed) = bounded(1);
        let request = Request {
            direction: Direction::Read,
            file: range.file,
            offset: range.offset,
            bytes: align_up(range.bytes as u64) as usize,
            bytes_needed: range.bytes,
            lease,
            tag: 0,
            reply,
        };
        self.traffic.submit(self.disk, request);
        completed
    }

    fn wait(&self, completed: &Receiver<Completion>) -> Result<Completion, Error> {
        loop {
            match completed.recv_timeout(STOP_INTERVAL) {
                Ok(completion) => return Ok(completion),
                Err(RecvTimeoutError::Timeout) => (self.check_stop)()?,
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("a disk completes every request")
                }
            }
        }
    }
}

/// A [`check_stop`](OrderedReads::check_stop) for jobs that only an observer can cancel.
pub(crate) fn check_cancelled(observer: &dyn Observer) -> Result<(), Error> {
    if observer.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
}
