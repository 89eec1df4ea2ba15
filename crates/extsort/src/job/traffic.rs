//! The bytes that a job moves to and from its drives, and the time with a transfer in flight.

use parking_lot::Mutex;
use serde::Serialize;
use std::time::{Duration, Instant};
use xsort_disk::{Completion, Direction, Disk, Request};

/// Counts every transfer of a job, from its submission until its completion is handled.
#[derive(Debug, Default)]
pub(crate) struct Traffic(Mutex<TrafficCounts>);

#[derive(Debug, Default)]
struct TrafficCounts {
    read_bytes: u64,
    written_bytes: u64,
    in_flight: usize,
    busy: Duration,
    busy_since: Option<Instant>,
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

impl Traffic {
    /// Starts a transfer.
    pub(crate) fn submit(&self, disk: &dyn Disk, request: Request) {
        {
            let mut state = self.0.lock();
            state.in_flight += 1;
            state.busy_since.get_or_insert_with(Instant::now);
        }
        disk.submit(request);
    }

    /// Counts a completed transfer.
    pub(crate) fn finish(&self, completion: &Completion) {
        let mut state = self.0.lock();
        match completion.direction {
            Direction::Read => state.read_bytes += completion.bytes as u64,
            Direction::Write => state.written_bytes += completion.bytes as u64,
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
        let state = self.0.lock();
        let busy = state.busy + state.busy_since.map_or(Duration::ZERO, |since| since.elapsed());
        Moved {
            read_bytes: state.read_bytes,
            written_bytes: state.written_bytes,
            busy_seconds: busy.as_secs_f64(),
        }
    }
}
