//! A request on its way through an engine: the caller's memory, the file it goes to, and how far it
//! has come.
//!
//! The engines (io_uring, threads) differ only in how they ask the system; what an answer means is
//! [`Progress`], and how a transfer ends is here.

use crate::file::OpenFile;
use crate::progress::{Next, Progress, Span};
use crate::{Completion, Direction, Error, Operation, Request};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::Duration;

/// A request in an engine's hands. It owns the memory until [`finish`](Transfer::finish) sends it
/// home.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) request: Request,
    pub(crate) file: Arc<OpenFile>,
    progress: Progress,
}

/// What an engine does with a transfer after an answer.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Ask the system for `span()` again, after the pause if there is one.
    Ask(Option<Duration>),
    /// Call `finish` with this.
    Finish(Result<(), Error>),
}

impl Transfer {
    /// # Panics
    /// If the request breaks its contract.
    pub(crate) fn new(request: Request, file: Arc<OpenFile>) -> Transfer {
        let progress = request.progress(file.is_direct());
        Transfer { request, file, progress }
    }

    pub(crate) fn span(&self) -> Span {
        self.progress.span()
    }

    /// Takes the system's answer for `span()` in.
    pub(crate) fn advance(&mut self, answer: Result<usize, Errno>) -> Verdict {
        match self.progress.advance(answer) {
            Next::Again => Verdict::Ask(None),
            Next::Later(pause) => Verdict::Ask(Some(pause)),
            Next::Undirect => {
                self.file.make_buffered();
                Verdict::Ask(None)
            }
            Next::Done => Verdict::Finish(Ok(())),
            Next::Failed { offset, source } => {
                let operation = match self.request.direction {
                    Direction::Read => Operation::Read,
                    Direction::Write => Operation::Write,
                };
                Verdict::Finish(Err(Error::at(operation, self.file.path(), offset, source)))
            }
        }
    }

    /// Sends the completion. The file is let go first, so that whoever has all completions knows
    /// that no transfer holds it.
    pub(crate) fn finish(self, result: Result<(), Error>) {
        drop(self.file);
        self.request.complete(result);
    }
}

impl Request {
    /// Checks the request's contract.
    ///
    /// # Panics
    /// If it is broken: misaligned, longer than its lease, or needing more than it asks for.
    pub(crate) fn progress(&self, is_direct: bool) -> Progress {
        assert!(
            self.bytes <= self.lease.len(),
            "a transfer of {} bytes does not fit into a lease of {}",
            self.bytes,
            self.lease.len()
        );
        Progress::new(self.direction, self.offset, self.bytes, self.bytes_needed, is_direct)
    }

    /// Sends the completion to the caller. If the caller is gone the lease is dropped, which
    /// returns it.
    pub(crate) fn complete(self, result: Result<(), Error>) {
        let Request { direction, file, offset, bytes, lease, tag, reply, .. } = self;
        let _ = reply.send(Completion { direction, file, offset, bytes, lease, tag, result });
    }
}
