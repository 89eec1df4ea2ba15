//! Drives that get too hot get a rest: above the limit nothing new is read or written, until they
//! are some degrees below it.

use crate::board::Board;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xsort_disk::Gate;
use xsort_status::{Sensor, Thermometer};

/// Degrees below the limit at which transfers go on: fewer, and it would come and go all the time.
const COOL_DEGREES: f64 = 5.0;

/// How often thermometers are read. Drives take seconds to warm up, and some take milliseconds to
/// answer.
const PERIOD: Duration = Duration::from_secs(1);

/// Where the kernel shows its devices; another tree for tests.
fn tree() -> PathBuf {
    std::env::var_os("XSORT_SYSFS").unwrap_or_else(|| "/sys".into()).into()
}

/// Sensors by directory, each looked for once and read once a second.
#[derive(Default)]
pub(crate) struct Sensors {
    known: Vec<(PathBuf, Option<Known>)>,
}

struct Known {
    sensor: Sensor,
    read_at: Instant,
    celsius: Option<f64>,
}

impl Sensors {
    /// The drive that holds `path`, and how hot it was a second ago or less; `None` if it has no
    /// thermometer.
    pub(crate) fn look(&mut self, path: &Path) -> Option<(String, Option<f64>)> {
        let place = match self.known.iter().position(|(known, _)| known == path) {
            Some(place) => place,
            None => {
                let known = Thermometer::new(tree()).sensor_of(path).map(|sensor| {
                    let celsius = sensor.celsius();
                    Known { sensor, read_at: Instant::now(), celsius }
                });
                self.known.push((path.to_owned(), known));
                self.known.len() - 1
            }
        };
        let known = self.known[place].1.as_mut()?;
        if known.read_at.elapsed() >= PERIOD {
            (known.read_at, known.celsius) = (Instant::now(), known.sensor.celsius());
        }
        Some((known.sensor.device.clone(), known.celsius))
    }
}

/// Whether transfers wait, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pause {
    pub(crate) is_paused: bool,
    pub(crate) limit_celsius: Option<f64>,
    pub(crate) resume_celsius: Option<f64>,
}

/// Closes the gate while a drive is too hot. Dropping it opens the gate.
pub(crate) struct Thermostat {
    limit: f64,
    gate: Arc<Gate>,
    directories: Vec<PathBuf>,
    sensors: Sensors,
    looked_at: Option<Instant>,
    is_closed: bool,
    say: Box<dyn Fn(&str) + Send>,
    is_cancelled: Box<dyn Fn() -> bool + Send>,
}

impl Thermostat {
    /// For a job that uses these directories. What there is to say goes to `say`, beside the board;
    /// a job that `is_cancelled` is let go.
    pub(crate) fn new(
        limit: f64,
        gate: Arc<Gate>,
        directories: Vec<PathBuf>,
        say: Box<dyn Fn(&str) + Send>,
        is_cancelled: Box<dyn Fn() -> bool + Send>,
    ) -> Thermostat {
        let sensors = Sensors::default();
        Thermostat {
            limit,
            gate,
            directories,
            sensors,
            looked_at: None,
            is_closed: false,
            say,
            is_cancelled,
        }
    }

    /// Reads the thermometers, if it is time, and does what is to be done.
    pub(crate) fn look(&mut self, board: &Board) -> Option<Pause> {
        if self.is_closed && (self.is_cancelled)() {
            self.is_closed = false;
            self.gate.open();
        } else if self.looked_at.is_none_or(|at| at.elapsed() >= PERIOD) && !(self.is_cancelled)() {
            let is_first = self.looked_at.is_none();
            self.looked_at = Some(Instant::now());
            self.regulate(board, is_first);
        }
        Some(Pause {
            is_paused: self.is_closed,
            limit_celsius: Some(self.limit),
            resume_celsius: Some(self.limit - COOL_DEGREES),
        })
    }

    fn regulate(&mut self, board: &Board, is_first: bool) {
        let sensors = &mut self.sensors;
        let read = |path: &PathBuf| {
            sensors.look(path).and_then(|(device, celsius)| Some((device, celsius?)))
        };
        let hottest = self.directories.iter().filter_map(read).max_by(|a, b| a.1.total_cmp(&b.1));
        let resume = self.limit - COOL_DEGREES;
        let Some((device, celsius)) = hottest else {
            if is_first {
                self.tell(
                    board,
                    "no drive of this job shows its temperature: the limit has no effect",
                );
            }
            // A thermometer that fell silent must not hold the job up for good.
            if std::mem::take(&mut self.is_closed) {
                self.gate.open();
            }
            return;
        };
        if !self.is_closed && celsius > self.limit {
            self.is_closed = true;
            self.gate.close();
            let limit = self.limit;
            self.tell(
                board,
                &format!("{device} has {celsius:.0} °C, the limit is {limit:.0}: transfers pause until it is below {resume:.0}"),
            );
        } else if self.is_closed && celsius < resume {
            self.is_closed = false;
            self.gate.open();
            self.tell(board, &format!("{device} has {celsius:.0} °C: transfers go on"));
        }
    }

    fn tell(&self, board: &Board, line: &str) {
        board.notice(line);
        (self.say)(line);
    }
}

impl Drop for Thermostat {
    fn drop(&mut self) {
        self.gate.open();
    }
}
