//! The bytes that a job moves to and from its drives, and the time with a transfer in flight.

use crate::job::spans::Spans;
use parking_lot::Mutex;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xsort_disk::{Completion, Direction, Disk, Request};

/// Counts every transfer of a job, from its submission until its completion is handled.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    counts: Mutex<TrafficCounts>,
    /// Where the times with transfers under way are recorded.
    spans: Option<Arc<Spans>>,
}

#[derive(Debug, Default)]
struct TrafficCounts {
    read_bytes: u64,
    written_bytes: u64,
    in_flight: usize,
    busy: Duration,
    busy_since: Option<Instant>,
    /// Reads under way, and since when there is one; the next field has the writes.
    reads: DirectionCounts,
    writes: DirectionCounts,
}

#[derive(Debug, Default)]
struct DirectionCounts {
    in_flight: usize,
    since: Option<Instant>,
}

/// Bytes that a job moved, and how busy that kept the drives.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Moved {
    /// Bytes read from inputs and scratch.
    pub read_bytes: u64,
    /// Bytes written to scratch and output.
    pub written_bytes: u64,
    /// Seconds with at least one transfer in flight on any drive.
    pub busy_seconds: f64,
}

impl TrafficCounts {
    fn of(&mut self, direction: Direction) -> &mut DirectionCounts {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }
}

impl Traffic {
    /// Traffic that is recorded in `spans`.
    pub(crate) fn recorded(spans: Option<Arc<Spans>>) -> Traffic {
        Traffic { spans, ..Traffic::default() }
    }

    /// Starts a transfer.
    pub(crate) fn submit(&self, disk: &dyn Disk, request: Request) {
        {
            let mut state = self.counts.lock();
            state.in_flight += 1;
            state.busy_since.get_or_insert_with(Instant::now);
            if self.spans.is_some() {
                let counts = state.of(request.direction);
                counts.in_flight += 1;
                counts.since.get_or_insert_with(Instant::now);
            }
        }
        disk.submit(request);
    }

    /// Counts a completed transfer.
    pub(crate) fn finish(&self, completion: &Completion) {
        let mut state = self.counts.lock();
        match completion.direction {
            Direction::Read => state.read_bytes += completion.bytes as u64,
            Direction::Write => state.written_bytes += completion.bytes as u64,
        }
        if let Some(spans) = &self.spans {
            let counts = state.of(completion.direction);
            counts.in_flight -= 1;
            if counts.in_flight == 0
                && let Some(since) = counts.since.take()
            {
                let is_read = completion.direction == Direction::Read;
                spans.record_transfers(is_read, since, Instant::now());
            }
        }
        state.in_flight -= 1;
        if state.in_flight == 0
            && let Some(since) = state.busy_since.take()
        {
            state.busy += since.elapsed();
        }
    }

    /// The totals so far.
    pub(crate) fn moved(&self) -> Moved {
        let state = self.counts.lock();
        let busy = state.busy + state.busy_since.map_or(Duration::ZERO, |since| since.elapsed());
        Moved {
            read_bytes: state.read_bytes,
            written_bytes: state.written_bytes,
            busy_seconds: busy.as_secs_f64(),
        }
    }
}
