//! How fast a job is, was, and when it will be done: sums over samples that are taken about ten
//! times a second.
//!
//! Pure: the clock is an argument.

use std::collections::VecDeque;

/// Points of a curve at most; beyond that, two become one.
pub const CURVE_POINTS_MAX: usize = 120;

/// "Now" is this long, in seconds: pipelines move by chunks, and shorter stretches would show
/// these.
const NOW_SECONDS: f64 = 2.0;

/// Below this a rate says nothing of what is to come.
const TELLING_SECONDS: f64 = 0.5;

/// Rates of one job.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Seconds since the job began, and bytes of all phases by then.
    samples: VecDeque<(f64, u64)>,
    /// Bytes in each step that is over.
    curve: Vec<u64>,
    step_seconds: f64,
    /// Bytes by the end of the last step.
    counted_bytes: u64,
}

/// How far a job is. Bytes are those that phases deal with, each phase for itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Of all phases so far.
    pub done_bytes: u64,
    /// Of this phase.
    pub phase_done_bytes: u64,
    /// Of this phase in all, if that is known; 0 of one that doesn't deal with bytes.
    pub phase_bytes: Option<u64>,
    /// Of phases that are to come, if they are known.
    pub to_come_bytes: Option<u64>,
    /// Seconds of this phase.
    pub phase_seconds: f64,
    /// Seconds of the job.
    pub seconds: f64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { samples: VecDeque::new(), curve: Vec::new(), step_seconds: 0.25, counted_bytes: 0 }
    }
}

impl Pace {
    /// Takes note that so many bytes were done so many seconds after the job began.
    pub fn note(&mut self, seconds: f64, done_bytes: u64) {
        while self.samples.len() > 1 && self.samples[1].0 <= seconds - NOW_SECONDS {
            self.samples.pop_front();
        }
        self.samples.push_back((seconds, done_bytes));
        while (self.curve.len() + 1) as f64 * self.step_seconds <= seconds {
            if self.curve.len() == CURVE_POINTS_MAX {
                self.curve = self.curve.chunks(2).map(|pair| pair.iter().sum()).collect();
                self.step_seconds *= 2.0;
                continue;
            }
            self.curve.push(done_bytes.saturating_sub(self.counted_bytes));
            self.counted_bytes = done_bytes;
        }
    }

    /// Bytes per second over the last samples.
    pub fn now(&self) -> f64 {
        match (self.samples.front(), self.samples.back()) {
            (Some(first), Some(last)) if last.0 > first.0 => {
                last.1.saturating_sub(first.1) as f64 / (last.0 - first.0)
            }
            _ => 0.0,
        }
    }

    /// Bytes per second in each step of the job's life, and how long a step is in seconds.
    pub fn curve(&self) -> (Vec<f64>, f64) {
        let rates = self.curve.iter().map(|bytes| *bytes as f64 / self.step_seconds).collect();
        (rates, self.step_seconds)
    }
}

impl Progress {
    /// Bytes per second since the job began.
    pub fn mean(&self) -> f64 {
        self.done_bytes as f64 / self.seconds.max(1e-3)
    }

    /// Seconds until the end, if that can be foreseen: this phase at its own rate, those to come at
    /// that of the job.
    pub fn seconds_left(&self) -> Option<f64> {
        let (phase, to_come) = (self.phase_left()?, self.to_come_bytes?);
        let own = self.phase_done_bytes as f64 / self.phase_seconds.max(1e-3);
        let own =
            if self.phase_seconds >= TELLING_SECONDS && own > 0.0 { own } else { self.mean() };
        let left = |bytes: u64, rate: f64| if bytes == 0 { 0.0 } else { bytes as f64 / rate };
        let seconds = left(phase, own) + left(to_come, self.mean());
        seconds.is_finite().then_some(seconds)
    }

    /// The share of all bytes of all phases that is done.
    pub fn share_done(&self) -> Option<f64> {
        let left = self.phase_left()? + self.to_come_bytes?;
        let all = self.done_bytes + left;
        (all > 0).then(|| self.done_bytes as f64 / all as f64)
    }

    fn phase_left(&self) -> Option<u64> {
        self.phase_bytes.map(|bytes| bytes.saturating_sub(self.phase_done_bytes))
    }
}
