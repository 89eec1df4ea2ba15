//! Pauses transfers while a drive is too hot. Above the limit no transfer starts until all drives
//! are some degrees below it.

use super::sensors::{SENSOR_PERIOD, Sensors};
use super::state::JobState;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::Gate;

/// Degrees below the limit at which transfers resume. A smaller gap would cause constant pauses.
const COOL_DEGREES: f64 = 5.0;

/// Whether transfers pause, and the limits in degrees Celsius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PauseState {
    pub(super) is_paused: bool,
    pub(super) limit_celsius: Option<f64>,
    pub(super) resume_celsius: Option<f64>,
}

/// Closes the gate while a drive is too hot. Dropping it opens the gate.
pub(super) struct Thermostat {
    limit: f64,
    gate: Arc<Gate>,
    directories: Vec<PathBuf>,
    sensors: Sensors,
    updated_at: Option<Instant>,
    is_closed: bool,
    print_notice: Box<dyn Fn(&str) + Send>,
    is_stopped: Box<dyn Fn() -> bool + Send>,
}

impl Thermostat {
    /// A thermostat for the drives of `directories`. It doesn't pause a job for which `is_stopped`
    /// returns true.
    pub(super) fn new(
        limit: f64,
        gate: Arc<Gate>,
        directories: Vec<PathBuf>,
        print_notice: Box<dyn Fn(&str) + Send>,
        is_stopped: Box<dyn Fn() -> bool + Send>,
    ) -> Thermostat {
        Thermostat {
            limit,
            gate,
            directories,
            sensors: Sensors::default(),
            updated_at: None,
            is_closed: false,
            print_notice,
            is_stopped,
        }
    }

    /// Reads the thermometers if a period has passed, and closes or opens the gate.
    pub(super) fn update(&mut self, state: &JobState) -> PauseState {
        let is_stopped = (self.is_stopped)();
        if self.is_closed && is_stopped {
            self.is_closed = false;
            self.gate.open();
        } else if self.updated_at.is_none_or(|at| at.elapsed() >= SENSOR_PERIOD) && !is_stopped {
            let is_first = self.updated_at.is_none();
            self.updated_at = Some(Instant::now());
            self.regulate(state, is_first);
        }
        PauseState {
            is_paused: self.is_closed,
            limit_celsius: Some(self.limit),
            resume_celsius: Some(self.limit - COOL_DEGREES),
        }
    }

    fn regulate(&mut self, state: &JobState, is_first: bool) {
        let resume = self.limit - COOL_DEGREES;
        let Some((device, celsius)) = self.hottest() else {
            if is_first {
                let line = "no drive of this job shows its temperature: the limit has no effect";
                self.notify(state, line);
            }
            // A thermometer that no longer answers must not hold up the job forever.
            if mem::take(&mut self.is_closed) {
                self.gate.open();
            }
            return;
        };
        if !self.is_closed && celsius > self.limit {
            self.is_closed = true;
            self.gate.close();
            let line = format!(
                "{device} has {celsius:.0} °C, the limit is {:.0}: \
                 transfers pause until it is below {resume:.0}",
                self.limit
            );
            self.notify(state, &line);
        } else if self.is_closed && celsius < resume {
            self.is_closed = false;
            self.gate.open();
            self.notify(state, &format!("{device} has {celsius:.0} °C: transfers go on"));
        }
    }

    /// The hottest drive and its temperature in degrees Celsius.
    fn hottest(&mut self) -> Option<(String, f64)> {
        let Thermostat { sensors, directories, .. } = self;
        let read = |path: &PathBuf| {
            sensors.read(path).and_then(|(device, celsius)| Some((device, celsius?)))
        };
        directories.iter().filter_map(read).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn notify(&self, state: &JobState, line: &str) {
        state.add_notice(line);
        (self.print_notice)(line);
    }
}

impl Drop for Thermostat {
    fn drop(&mut self) {
        self.gate.open();
    }
}
