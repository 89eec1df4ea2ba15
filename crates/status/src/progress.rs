//! A job's progress, and when it will be done.

/// Minimum age of a phase, in seconds, at which its rate predicts anything.
const PREDICTIVE_SECONDS: f64 = 0.5;

/// A job's progress. Each phase counts the bytes that it processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes done in all phases so far.
    pub done_bytes: u64,
    /// Bytes done in this phase.
    pub phase_done_bytes: u64,
    /// All bytes of this phase, if known; 0 if it doesn't process bytes.
    pub phase_bytes: Option<u64>,
    /// Bytes of phases to come, if known.
    pub to_come_bytes: Option<u64>,
    /// Seconds since this phase began.
    pub phase_seconds: f64,
    /// Seconds since the job began.
    pub seconds: f64,
}

impl Progress {
    /// Returns the bytes per second since the job began.
    pub fn mean(&self) -> f64 {
        self.done_bytes as f64 / self.seconds.max(1e-3)
    }

    /// Returns the seconds until the end, if predictable: the rest of this phase at the phase's
    /// rate, later phases at the job's rate.
    pub fn seconds_left(&self) -> Option<f64> {
        let (phase, to_come) = (self.phase_bytes_left()?, self.to_come_bytes?);
        let phase_rate = self.phase_done_bytes as f64 / self.phase_seconds.max(1e-3);
        let is_predictive = self.phase_seconds >= PREDICTIVE_SECONDS && phase_rate > 0.0;
        let phase_rate = if is_predictive { phase_rate } else { self.mean() };
        let left = |bytes: u64, rate: f64| if bytes == 0 { 0.0 } else { bytes as f64 / rate };
        let seconds = left(phase, phase_rate) + left(to_come, self.mean());
        seconds.is_finite().then_some(seconds)
    }

    /// Returns the completed share of all bytes of all phases, from 0 to 1.
    pub fn share_done(&self) -> Option<f64> {
        let left = self.phase_bytes_left()? + self.to_come_bytes?;
        let all = self.done_bytes + left;
        (all > 0).then(|| self.done_bytes as f64 / all as f64)
    }

    fn phase_bytes_left(&self) -> Option<u64> {
        self.phase_bytes.map(|bytes| bytes.saturating_sub(self.phase_done_bytes))
    }
}
