//! How far a transfer has come: the one answer to short transfers, EINTR, EAGAIN, refusals of direct I/O, the file's end and
//! real errors, shared by io_uring, threads and the simulation.
//!
//! A pure state machine: it is told what the system answered and says what to do next. It owns no memory, file or clock, which is what
//! lets a property test drive it through every sequence of answers.
//!
//! ```text
//!               span() -> the system is asked for [start, end of request)
//!  n bytes      arrived = start + n; all needed there? Done : go on from the last boundary that direct I/O can start at
//!  0 bytes      a read met the file's end: Done if enough arrived, else UnexpectedEof; a write: WriteZero
//!  EINTR        Again
//!  EAGAIN       Later (a pause that doubles up to 10 ms, about ten seconds in all, then it is an error)
//!  EINVAL       on a direct file: Undirect (the file system refuses direct I/O after all), else an error
//!  other        Failed
//! ```

use crate::{ALIGNMENT, Direction};
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// Direct answers in a row that bring nothing new before the file's end is believed. A direct transfer may start only at a
/// boundary, so after a ragged end the same tail is asked for again; at a true end the answer doesn't grow.
const STALLS_MAX: u32 = 8;

/// EAGAIN in a row before it is an error: pauses of 0.1 ms doubling to 10 ms, about ten seconds in all.
const PAUSES_MAX: u32 = 1000;

/// What to do next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Ask the system for `span()` now.
    Again,
    /// Ask the system for `span()` after this pause.
    Later(Duration),
    /// Turn the file's direct I/O off, then ask for `span()`.
    Undirect,
    /// All needed bytes went through.
    Done,
    /// Final, at this offset in the file.
    Failed { offset: u64, source: io::Error },
}

/// The part of a request that is still to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Place in the file, in bytes.
    pub(crate) offset: u64,
    /// Place in the request's memory, in bytes.
    pub(crate) start: usize,
    /// Length, in bytes; never 0 for a request that isn't empty.
    pub(crate) bytes: usize,
}

/// A request's state: everything but its memory and its file.
#[derive(Debug)]
pub(crate) struct Progress {
    direction: Direction,
    offset: u64,
    bytes: usize,
    bytes_needed: usize,
    is_direct: bool,
    /// Bytes that have gone through, from the request's beginning.
    arrived: usize,
    /// Answers in a row that brought nothing new.
    stalls: u32,
    /// EAGAINs in a row.
    pauses: u32,
}

impl Progress {
    /// # Panics
    /// If the request breaks the contract of [`Request`](crate::Request): alignment, or `bytes_needed`.
    pub(crate) fn new(
        direction: Direction,
        offset: u64,
        bytes: usize,
        bytes_needed: usize,
        is_direct: bool,
    ) -> Progress {
        assert!(
            offset.is_multiple_of(ALIGNMENT as u64),
            "a transfer at byte {offset} is not aligned to {ALIGNMENT}"
        );
        assert!(bytes.is_multiple_of(ALIGNMENT), "a transfer of {bytes} bytes is not aligned to {ALIGNMENT}");
        assert!(
            bytes_needed <= bytes,
            "a transfer of {bytes} bytes can't bring the {bytes_needed} that are needed"
        );
        assert!(
            direction == Direction::Read || bytes_needed == bytes,
            "a write needs all of its bytes written"
        );
        Progress { direction, offset, bytes, bytes_needed, is_direct, arrived: 0, stalls: 0, pauses: 0 }
    }

    /// What to ask the system for now.
    pub(crate) fn span(&self) -> Span {
        let start = self.start();
        Span { offset: self.offset + start as u64, start, bytes: self.bytes - start }
    }

    /// A direct transfer restarts at a boundary (and moves a part of a block twice), a buffered one exactly where it stopped.
    fn start(&self) -> usize {
        if self.is_direct { self.arrived - self.arrived % ALIGNMENT } else { self.arrived }
    }

    /// Takes the system's answer for `span()` in.
    pub(crate) fn advance(&mut self, answer: Result<usize, Errno>) -> Next {
        match answer {
            Ok(bytes) => self.moved(bytes),
            Err(Errno::INTR) => Next::Again,
            Err(Errno::AGAIN) if self.pauses < PAUSES_MAX => {
                let pause = Duration::from_micros(100 << self.pauses.min(7)).min(Duration::from_millis(10));
                self.pauses += 1;
                Next::Later(pause)
            }
            Err(Errno::INVAL) if self.is_direct => {
                self.is_direct = false;
                Next::Undirect
            }
            Err(errno) => self.failed(errno),
        }
    }

    fn moved(&mut self, bytes: usize) -> Next {
        self.pauses = 0;
        let span = self.span();
        assert!(bytes <= span.bytes, "the system moved {bytes} bytes where {} were asked for", span.bytes);
        let before = self.arrived;
        self.arrived = before.max(span.start + bytes);
        if self.arrived >= self.bytes_needed {
            return Next::Done;
        }
        if self.arrived > before {
            self.stalls = 0;
            return Next::Again;
        }
        self.stalls += 1;
        // Nothing at all is the file's end (or a full device that doesn't say so). The same ragged tail again is most
        // likely the end as well, but a device may answer in sectors smaller than our boundary, so it is asked a few times.
        if bytes > 0 && self.stalls < STALLS_MAX {
            return Next::Again;
        }
        match self.direction {
            Direction::Read => self.failed(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file is shorter than it was when it was opened",
            )),
            Direction::Write => {
                self.failed(io::Error::new(io::ErrorKind::WriteZero, "the device takes no more bytes"))
            }
        }
    }

    fn failed(&self, source: impl Into<io::Error>) -> Next {
        Next::Failed { offset: self.offset + self.arrived as u64, source: source.into() }
    }
}
