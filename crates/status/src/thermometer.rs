//! The temperature of a drive: from a path to its file system's block device, and from there to the
//! sensor that the kernel shows (hwmon: NVMe drives by themselves, SATA drives with the module
//! drivetemp).
//!
//! ```text
//!  the file system's device     /sys/dev/block/MAJOR:MINOR -> .../nvme/nvme0/nvme0n1/nvme0n1p1
//!  a sensor's device, above it  /sys/class/hwmon/hwmonN/device -> .../nvme/nvme0
//!  1/1000 of a degree Celsius   /sys/class/hwmon/hwmonN/temp1_input
//! ```
//!
//! A device that consists of others (LVM, RAID, encryption) is as hot as the hottest of these. The
//! root of /sys is an argument, so that tests can create drives.

use rustix::fs::{major, minor, stat};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum depth to which devices that consist of other devices are followed.
const DEPTH_MAX: u32 = 8;

/// Drivers of sensors in drives. All other sensors measure processors, boards and batteries.
const DRIVERS: [&str; 2] = ["nvme", "drivetemp"];

/// Finds sensors in a tree such as /sys.
#[derive(Clone, Debug)]
pub struct Thermometer {
    root: PathBuf,
}

/// The sensors of one drive, or of all drives under a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensor {
    /// The kernel's name of the drive, "nvme0n1"; several names are separated by commas.
    pub device: String,
    files: Vec<PathBuf>,
}

impl Thermometer {
    /// Creates a thermometer for the tree at `root`: /sys, or a test's tree.
    pub fn new(root: impl Into<PathBuf>) -> Thermometer {
        Thermometer { root: root.into() }
    }

    /// Returns the sensor of the drive that holds `path`; `None` if there is none.
    pub fn sensor_of(&self, path: &Path) -> Option<Sensor> {
        let device = stat(path).ok()?.st_dev;
        let number = format!("{}:{}", major(device), minor(device));
        let block = self.root.join("dev/block").join(&number).canonicalize().ok();
        let block = block.or_else(|| self.mounted_from(&number))?;
        let mut drives = Vec::new();
        self.drives_below(&block, DEPTH_MAX, &mut drives);
        let (mut names, mut files) = (Vec::new(), Vec::new());
        for drive in drives {
            let found = self.sensors_above(&drive);
            if !found.is_empty() {
                names.push(drive.file_name()?.to_string_lossy().into_owned());
                files.extend(found);
            }
        }
        (!files.is_empty()).then(|| Sensor { device: names.join(","), files })
    }

    /// Returns the block device of a file system that has device numbers of its own (btrfs), by its
    /// mount.
    fn mounted_from(&self, number: &str) -> Option<PathBuf> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(number))?;
        let source = line.split(" - ").nth(1)?.split(' ').nth(1)?;
        let device = stat(source).ok().filter(|_| source.starts_with("/dev/"))?.st_rdev;
        self.root
            .join("dev/block")
            .join(format!("{}:{}", major(device), minor(device)))
            .canonicalize()
            .ok()
    }

    /// Adds the whole drives to which a block device belongs, or of which it consists, to `drives`.
    fn drives_below(&self, block: &Path, depth: u32, drives: &mut Vec<PathBuf>) {
        let slaves = fs::read_dir(block.join("slaves")).into_iter().flatten().flatten();
        let slaves: Vec<PathBuf> =
            slaves.filter_map(|entry| entry.path().canonicalize().ok()).collect();
        if !slaves.is_empty() && depth > 0 {
            slaves.iter().for_each(|slave| self.drives_below(slave, depth - 1, drives));
            return;
        }
        let is_partition = block.join("partition").exists();
        let drive = match block.parent() {
            Some(whole) if is_partition => whole.to_owned(),
            _ => block.to_owned(),
        };
        if !drives.contains(&drive) {
            drives.push(drive);
        }
    }

    /// Returns the files of all sensors whose device is the drive or an ancestor of it.
    fn sensors_above(&self, drive: &Path) -> Vec<PathBuf> {
        let mut paths = vec![drive.to_owned()];
        // A multipath drive is in a subsystem, which links to its controllers.
        if let Some(subsystem) =
            drive.parent().filter(|parent| parent.to_string_lossy().contains("nvme-subsys"))
        {
            let links = fs::read_dir(subsystem).into_iter().flatten().flatten();
            paths.extend(links.filter_map(|entry| entry.path().canonicalize().ok()));
        }
        let sensors = fs::read_dir(self.root.join("class/hwmon")).into_iter().flatten().flatten();
        let of_drive = |sensor: &PathBuf| {
            let name = fs::read_to_string(sensor.join("name")).unwrap_or_default();
            let device = sensor.join("device").canonicalize();
            DRIVERS.contains(&name.trim())
                && device.is_ok_and(|device| paths.iter().any(|path| path.starts_with(&device)))
        };
        let sensors = sensors.map(|entry| entry.path()).filter(of_drive);
        let mut files: Vec<PathBuf> = sensors.map(|sensor| sensor.join("temp1_input")).collect();
        files.sort();
        files
    }
}

impl Sensor {
    /// Returns the current temperature of the hottest sensor in degrees Celsius; `None` if no
    /// sensor answers.
    pub fn celsius(&self) -> Option<f64> {
        let read = |file: &PathBuf| fs::read_to_string(file).ok()?.trim().parse::<i64>().ok();
        self.files.iter().filter_map(read).max().map(|thousandths| thousandths as f64 / 1000.0)
    }
}
