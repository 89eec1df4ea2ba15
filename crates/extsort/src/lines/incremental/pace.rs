//! When lines leave although there is room for more: if nothing has come for a moment, but so
//! rarely that it costs little.

use std::time::{Duration, Instant};

/// The least time between two times at which lines leave.
const LEAST: Duration = Duration::from_millis(20);
/// Lines leave for at most one in this number of seconds, if there is room for more.
const SHARE: u32 = 5;

/// When lines have left, and how long that took.
#[derive(Debug, Default)]
pub(super) struct Pace {
    begun: Option<Instant>,
    /// From then on lines may leave again.
    next: Option<Instant>,
    /// True if lines have come since.
    has_new: bool,
}

impl Pace {
    /// The time from which on lines leave if no more come; `None` if no line has come.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.has_new.then(|| self.next.unwrap_or_else(Instant::now))
    }

    /// Says that lines have come.
    pub(super) fn taken(&mut self) {
        self.has_new = true;
    }

    /// Says that lines begin to leave.
    pub(super) fn begin(&mut self) {
        self.begun = Some(Instant::now());
    }

    /// Says that all lines have left that may.
    pub(super) fn end(&mut self) {
        let now = Instant::now();
        let took = self.begun.map_or(Duration::ZERO, |begun| now - begun);
        self.next = Some(now + LEAST.max((SHARE - 1) * took));
        self.has_new = false;
    }
}
