//! How far a transfer has come. This file is the only place that handles short transfers, EINTR,
//! EAGAIN, refused direct I/O, the file's end and real errors. io_uring, threads and the simulation
//! share it.
//!
//! It is a pure state machine: it takes the system's answer and returns what to do next. It owns no
//! memory, file or clock, so that a property test can feed it any sequence of answers.
//!
//! ```text
//!               span(): the part to submit, from `start` to the request's end
//!  n bytes      arrived = start + n; Done if all needed bytes are there, else Again from the last
//!               boundary at which direct I/O can start
//!  0 bytes      a read met the file's end: Done if enough arrived, else UnexpectedEof; a write:
//!               WriteZero
//!  EINTR        Again
//!  EAGAIN       Later: a pause that doubles up to 10 ms; an error after about ten seconds in all
//!  EINVAL       on a direct file: GoBuffered (the file system refuses direct I/O after all), else
//!               an error
//!  other        Failed
//! ```

use crate::{ALIGNMENT, Direction};
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// Maximum number of consecutive direct answers without new bytes before they count as the file's
/// end. A direct transfer starts at a boundary. After an answer that ends between two boundaries,
/// part of it is read again; at the file's end the answer doesn't grow.
const STALLS_MAX: u32 = 8;

/// Number of consecutive EAGAINs before an error: pauses of 0.1 ms doubling to 10 ms, about ten
/// seconds in all.
const PAUSES_MAX: u32 = 1000;

/// What to do next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Submit `span()` now.
    Again,
    /// Submit `span()` after this pause.
    Later(Duration),
    /// Turn the file's direct I/O off, then submit `span()`.
    GoBuffered,
    /// All needed bytes were transferred.
    Done,
    /// A final error at this offset in the file.
    Failed { offset: u64, source: io::Error },
}

/// The part of a request that is still missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Offset in the file, in bytes.
    pub(crate) offset: u64,
    /// Offset in the request's memory, in bytes.
    pub(crate) start: usize,
    /// Length, in bytes; never 0 for a request that isn't empty.
    pub(crate) bytes: usize,
}

/// A request's state, without its memory and its file.
#[derive(Debug)]
pub(crate) struct Progress {
    direction: Direction,
    offset: u64,
    bytes: usize,
    bytes_needed: usize,
    is_direct: bool,
    /// Bytes transferred so far, from the request's beginning.
    arrived: usize,
    /// Consecutive answers without new bytes.
    stalls: u32,
    /// Consecutive EAGAINs.
    pauses: u32,
}

impl Progress {
    /// Creates the state of a request.
    ///
    /// # Panics
    /// If the request breaks the contract of [`Request`](crate::Request): alignment, or
    /// `bytes_needed`.
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
        assert!(
            bytes.is_multiple_of(ALIGNMENT),
            "a transfer of {bytes} bytes is not aligned to {ALIGNMENT}"
        );
        assert!(
            bytes_needed <= bytes,
            "a transfer of {bytes} bytes can't bring the {bytes_needed} that are needed"
        );
        assert!(
            direction == Direction::Read || bytes_needed == bytes,
            "a write needs all of its bytes written"
        );
        Progress {
            direction,
            offset,
            bytes,
            bytes_needed,
            is_direct,
            arrived: 0,
            stalls: 0,
            pauses: 0,
        }
    }

    /// Returns what to submit now.
    pub(crate) fn span(&self) -> Span {
        let start = self.start();
        Span { offset: self.offset + start as u64, start, bytes: self.bytes - start }
    }

    /// Returns where to continue. A direct transfer restarts at a boundary (and moves part of a
    /// block twice), a buffered one exactly where it stopped.
    fn start(&self) -> usize {
        if self.is_direct { self.arrived - self.arrived % ALIGNMENT } else { self.arrived }
    }

    /// Processes the system's answer to `span()`.
    pub(crate) fn advance(&mut self, answer: Result<usize, Errno>) -> Next {
        match answer {
            Ok(bytes) => self.moved(bytes),
            Err(Errno::INTR) => Next::Again,
            Err(Errno::AGAIN) if self.pauses < PAUSES_MAX => {
                let pause =
                    Duration::from_micros(100 << self.pauses.min(7)).min(Duration::from_millis(10));
                self.pauses += 1;
                Next::Later(pause)
            }
            Err(Errno::INVAL) if self.is_direct => {
                self.is_direct = false;
                Next::GoBuffered
            }
            Err(errno) => self.failed(errno),
        }
    }

    fn moved(&mut self, bytes: usize) -> Next {
        self.pauses = 0;
        let span = self.span();
        assert!(
            bytes <= span.bytes,
            "the system moved {bytes} bytes where {} were submitted",
            span.bytes
        );
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
        // Zero bytes mean the file's end (or a full device that doesn't report it). The same
        // partial block again most likely means it as well. But a device may answer in sectors
        // smaller than our alignment, so the read is retried a few times.
        if bytes > 0 && self.stalls < STALLS_MAX {
            return Next::Again;
        }
        match self.direction {
            Direction::Read => self.failed(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file is shorter than it was when it was opened",
            )),
            Direction::Write => self
                .failed(io::Error::new(io::ErrorKind::WriteZero, "the device takes no more bytes")),
        }
    }

    fn failed(&self, source: impl Into<io::Error>) -> Next {
        Next::Failed { offset: self.offset + self.arrived as u64, source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCK: usize = ALIGNMENT;

    fn read(bytes: usize, bytes_needed: usize) -> Progress {
        Progress::new(Direction::Read, 0, bytes, bytes_needed, true)
    }

    #[test]
    fn the_rest_of_a_short_direct_transfer_is_aligned() {
        let mut progress = read(4 * BLOCK, 4 * BLOCK);
        assert!(matches!(progress.advance(Ok(BLOCK + 512)), Next::Again));
        assert_eq!(progress.span(), Span { offset: BLOCK as u64, start: BLOCK, bytes: 3 * BLOCK });
        assert!(matches!(progress.advance(Ok(3 * BLOCK)), Next::Done));
    }

    #[test]
    fn a_refused_direct_transfer_goes_on_buffered_where_it_stopped() {
        let mut progress = read(2 * BLOCK, 2 * BLOCK);
        assert!(matches!(progress.advance(Ok(100)), Next::Again));
        assert!(matches!(progress.advance(Err(Errno::INVAL)), Next::GoBuffered));
        assert_eq!(progress.span(), Span { offset: 100, start: 100, bytes: 2 * BLOCK - 100 });
        // A second refusal can't be about direct I/O.
        assert!(matches!(progress.advance(Err(Errno::INVAL)), Next::Failed { offset: 100, .. }));
    }

    #[test]
    fn a_ragged_tail_is_believed_to_be_the_end_after_a_few_answers() {
        let mut progress = read(2 * BLOCK, 2 * BLOCK);
        let mut asked = 0;
        let source = loop {
            asked += 1;
            match progress.advance(Ok(1000)) {
                Next::Again => {}
                Next::Failed { offset: 1000, source } => break source,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((source.kind(), asked), (io::ErrorKind::UnexpectedEof, 1 + STALLS_MAX));
    }

    fn failure(next: Next) -> io::ErrorKind {
        match next {
            Next::Failed { source, .. } => source.kind(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_read_is_the_end_at_once_and_nothing_written_an_error() {
        let end = read(BLOCK, 1).advance(Ok(0));
        assert_eq!(failure(end), io::ErrorKind::UnexpectedEof);
        assert!(matches!(read(BLOCK, 0).advance(Ok(0)), Next::Done));
        let full = Progress::new(Direction::Write, 0, BLOCK, BLOCK, true).advance(Ok(0));
        assert_eq!(failure(full), io::ErrorKind::WriteZero);
    }

    #[test]
    fn a_system_without_resources_is_asked_again_for_seconds_and_not_for_ever() {
        let mut progress = read(BLOCK, BLOCK);
        let mut paused = Duration::ZERO;
        let source = loop {
            match progress.advance(Err(Errno::AGAIN)) {
                Next::Later(pause) => paused += pause,
                Next::Failed { source, .. } => break source,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(Errno::from_io_error(&source), Some(Errno::AGAIN));
        assert!((5..20).contains(&paused.as_secs()), "{paused:?}");
        assert!(
            matches!(progress.advance(Err(Errno::INTR)), Next::Again),
            "EINTR is no reason to give up"
        );
    }

    /// One possible answer of the system.
    #[derive(Clone, Copy, Debug)]
    enum Answer {
        Share(u16),
        Interrupted,
        NoResources,
        Refused,
    }

    fn answers() -> impl Strategy<Value = Vec<Answer>> {
        let answer = prop_oneof![
            6 => any::<u16>().prop_map(Answer::Share),
            2 => Just(Answer::Interrupted),
            1 => Just(Answer::NoResources),
            1 => Just(Answer::Refused),
        ];
        prop::collection::vec(answer, 0..60)
    }

    proptest! {
        /// Compares with a model that moves real bytes. Whatever the system answers, a finished
        /// transfer has moved every needed byte to its place, and an unfinished one has met the
        /// file's end.
        #[test]
        fn every_needed_byte_arrives_or_the_end_is_reported(
            direction in prop_oneof![Just(Direction::Read), Just(Direction::Write)],
            blocks in 1usize..9,
            first_block in 0u64..4,
            file_share in 0u16..=u16::MAX,
            needed_share in 0u16..=u16::MAX,
            answers in answers(),
        ) {
            let bytes = blocks * BLOCK;
            let offset = first_block * BLOCK as u64;
            let share_of =
                |share: u16, whole: usize| whole * usize::from(share) / usize::from(u16::MAX);
            let is_read = direction == Direction::Read;
            // How much of the request the file has; a write can always continue.
            let present = if is_read { share_of(file_share, bytes) } else { bytes };
            let needed = if is_read { share_of(needed_share, bytes) } else { bytes };
            let mut is_moved = vec![false; bytes];
            let mut progress = Progress::new(direction, offset, bytes, needed, true);
            let mut is_direct = true;
            // After the given answers the system is well-behaved.
            let mut answers = answers.into_iter();
            let mut last = 0;
            let end = loop {
                last += 1;
                prop_assert!(last < 200, "a transfer ends");
                let span = progress.span();
                prop_assert_eq!(span.start + span.bytes, bytes);
                prop_assert_eq!(span.offset, offset + span.start as u64);
                prop_assert!(span.bytes > 0 && (!is_direct || span.start.is_multiple_of(BLOCK)));
                let available = present.saturating_sub(span.start).min(span.bytes);
                let answer = match answers.next() {
                    Some(Answer::Interrupted) => Err(Errno::INTR),
                    Some(Answer::NoResources) => Err(Errno::AGAIN),
                    Some(Answer::Refused) if is_direct => Err(Errno::INVAL),
                    // A short count, 0 only at the end. Direct: whole sectors except at the end,
                    // and at least one block.
                    Some(Answer::Share(share)) if available > 0 => {
                        let some = share_of(share, available).max(1);
                        let sectors = some.next_multiple_of(512).max(BLOCK);
                        Ok(if is_direct { sectors.min(available) } else { some })
                    }
                    _ => Ok(available),
                };
                if let Ok(moved) = answer {
                    is_moved[span.start..span.start + moved].fill(true);
                }
                match progress.advance(answer) {
                    Next::Again | Next::Later(_) => {}
                    Next::GoBuffered => is_direct = false,
                    end => break end,
                }
            };
            match end {
                Next::Done => prop_assert!(is_moved[..needed].iter().all(|&moved| moved)),
                Next::Failed { offset: at, source } => {
                    prop_assert_eq!(source.kind(), io::ErrorKind::UnexpectedEof);
                    prop_assert!(present < needed);
                    prop_assert_eq!(at, offset + present as u64);
                }
                other => prop_assert!(false, "{:?} is no end", other),
            }
        }
    }
}
