//! A request while an engine works on it: the caller's memory, its file, and how far it has come.
//!
//! The engines (io_uring, threads) differ only in how they call the system. [`Progress`] decides
//! what an answer means; this file, how a transfer ends.

use crate::file::OpenFile;
use crate::progress::{Next, Progress, Span};
use crate::{Completion, Direction, Error, Operation, Request};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::Duration;

/// A request under way in an engine. It owns the memory until [`finish`](Transfer::finish) sends
/// the completion.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) request: Request,
    pub(crate) file: Arc<OpenFile>,
    progress: Progress,
}

/// What an engine does with a transfer after an answer.
#[derive(Debug)]
pub(crate) enum Action {
    /// Submit `span()`.
    Submit,
    /// Submit `span()` after this pause.
    SubmitAfter(Duration),
    /// Call `finish` with this result.
    Finish(Result<(), Error>),
}

impl Transfer {
    /// Wraps a request.
    ///
    /// # Panics
    /// If the request breaks its contract.
    pub(crate) fn new(request: Request, file: Arc<OpenFile>) -> Transfer {
        let progress = request.progress(file.is_direct());
        Transfer { request, file, progress }
    }

    pub(crate) fn span(&self) -> Span {
        self.progress.span()
    }

    /// Processes the system's answer to `span()`.
    pub(crate) fn advance(&mut self, answer: Result<usize, Errno>) -> Action {
        match self.progress.advance(answer) {
            Next::Again => Action::Submit,
            Next::Later(pause) => Action::SubmitAfter(pause),
            Next::GoBuffered => {
                self.file.make_buffered();
                Action::Submit
            }
            Next::Done => Action::Finish(Ok(())),
            Next::Failed { offset, source } => {
                let operation = match self.request.direction {
                    Direction::Read => Operation::Read,
                    Direction::Write => Operation::Write,
                };
                Action::Finish(Err(Error::at(operation, self.file.path(), offset, source)))
            }
        }
    }

    /// Sends the completion. The file is dropped first, so that a caller that has received all
    /// completions knows that no transfer holds it any more.
    pub(crate) fn finish(self, result: Result<(), Error>) {
        drop(self.file);
        self.request.complete(result);
    }
}

impl Request {
    /// Checks the request's contract and returns its initial state.
    ///
    /// # Panics
    /// If the contract is broken: misaligned, longer than its lease, or needing more than it
    /// transfers.
    pub(crate) fn progress(&self, is_direct: bool) -> Progress {
        assert!(
            self.bytes <= self.lease.len(),
            "a transfer of {} bytes does not fit into a lease of {}",
            self.bytes,
            self.lease.len()
        );
        Progress::new(self.direction, self.offset, self.bytes, self.bytes_needed, is_direct)
    }

    /// Sends the completion to the caller, for a disk that has carried out the request. If the
    /// caller is gone, the lease is dropped, which returns it.
    pub fn complete(self, result: Result<(), Error>) {
        let Request { direction, file, offset, bytes, lease, tag, reply, .. } = self;
        let _ = reply.send(Completion { direction, file, offset, bytes, lease, tag, result });
    }
}
