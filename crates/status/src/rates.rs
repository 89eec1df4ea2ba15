//! A job's current and past rates: sums over samples that are taken about ten times a second.
//!
//! There is no clock here: times are arguments.

use std::collections::VecDeque;

/// Maximum number of points of a curve; beyond that, each two become one.
pub const CURVE_POINTS_MAX: usize = 120;

/// Seconds over which the current rate is averaged. Pipelines process chunks, which would show in a
/// shorter time.
const NOW_SECONDS: f64 = 2.0;

/// The rates of one job.
#[derive(Clone, Debug)]
pub struct RateHistory {
    /// Seconds since the job began, and the bytes of all phases until then.
    samples: VecDeque<(f64, u64)>,
    /// Bytes in each completed step.
    curve: Vec<u64>,
    step_seconds: f64,
    /// Bytes until the end of the last step.
    counted_bytes: u64,
}

impl Default for RateHistory {
    fn default() -> RateHistory {
        RateHistory {
            samples: VecDeque::new(),
            curve: Vec::new(),
            step_seconds: 0.25,
            counted_bytes: 0,
        }
    }
}

impl RateHistory {
    /// Adds a sample: `done_bytes` were done `seconds` seconds after the job began.
    pub fn add(&mut self, seconds: f64, done_bytes: u64) {
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

    /// Returns the bytes per second over the last two seconds.
    pub fn now(&self) -> f64 {
        match (self.samples.front(), self.samples.back()) {
            (Some(first), Some(last)) if last.0 > first.0 => {
                last.1.saturating_sub(first.1) as f64 / (last.0 - first.0)
            }
            _ => 0.0,
        }
    }

    /// Returns the bytes per second in each step since the job began, and a step's length in
    /// seconds.
    pub fn curve(&self) -> (Vec<f64>, f64) {
        let rates = self.curve.iter().map(|bytes| *bytes as f64 / self.step_seconds).collect();
        (rates, self.step_seconds)
    }
}
