//! Thermometers of drives, read once a second.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use xsort_status::{Sensor, Thermometer};

/// How often thermometers are read. Drives take seconds to warm up, and some thermometers take
/// milliseconds to answer.
pub(super) const SENSOR_PERIOD: Duration = Duration::from_secs(1);

/// The directory where the kernel shows its devices. Tests set another one.
fn sysfs() -> PathBuf {
    std::env::var_os("XSORT_SYSFS").unwrap_or_else(|| "/sys".into()).into()
}

/// Sensors by directory. Each directory is looked up once, and its sensor read once a second.
#[derive(Default)]
pub(super) struct Sensors {
    /// `None` for a directory whose drive has no thermometer.
    by_directory: Vec<(PathBuf, Option<CachedSensor>)>,
}

struct CachedSensor {
    sensor: Sensor,
    read_at: Instant,
    celsius: Option<f64>,
}

impl Sensors {
    /// The drive that holds `path`, and its temperature of at most a second ago. `None` if the
    /// drive has no thermometer.
    pub(super) fn read(&mut self, path: &Path) -> Option<(String, Option<f64>)> {
        let index = match self.by_directory.iter().position(|(directory, _)| directory == path) {
            Some(index) => index,
            None => {
                let sensor = Thermometer::new(sysfs()).sensor_of(path).map(|sensor| {
                    let celsius = sensor.celsius();
                    CachedSensor { sensor, read_at: Instant::now(), celsius }
                });
                self.by_directory.push((path.to_owned(), sensor));
                self.by_directory.len() - 1
            }
        };
        let cached = self.by_directory[index].1.as_mut()?;
        if cached.read_at.elapsed() >= SENSOR_PERIOD {
            (cached.read_at, cached.celsius) = (Instant::now(), cached.sensor.celsius());
        }
        Some((cached.sensor.device.clone(), cached.celsius))
    }
}
