//! Thermometers in a tree made of files.

use rustix::fs::{major, minor, stat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use xsort_status::Thermometer;

/// A tree in which the drive that holds `path` is what `device` says, below devices/.
fn tree(root: &Path, path: &Path, device: &str) -> PathBuf {
    let block = root.join("devices").join(device);
    fs::create_dir_all(&block).unwrap();
    fs::create_dir_all(root.join("dev/block")).unwrap();
    fs::create_dir_all(root.join("class/hwmon")).unwrap();
    let number = stat(path).unwrap().st_dev;
    symlink(&block, root.join(format!("dev/block/{}:{}", major(number), minor(number)))).unwrap();
    block
}

/// A sensor of the device.
fn sensor(root: &Path, number: u32, name: &str, device: &str, thousandths: i64) -> PathBuf {
    let sensor = root.join("devices").join(device).join(format!("hwmon/hwmon{number}"));
    fs::create_dir_all(&sensor).unwrap();
    fs::write(sensor.join("name"), format!("{name}\n")).unwrap();
    fs::write(sensor.join("temp1_input"), format!("{thousandths}\n")).unwrap();
    symlink(root.join("devices").join(device), sensor.join("device")).unwrap();
    symlink(&sensor, root.join(format!("class/hwmon/hwmon{number}"))).unwrap();
    sensor
}

#[test]
fn a_partition_of_an_nvme_drive_is_as_hot_as_the_drive() {
    let (root, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let partition = tree(root.path(), data.path(), "pci0/nvme/nvme0/nvme0n1/nvme0n1p2");
    fs::write(partition.join("partition"), "2\n").unwrap();
    let file = sensor(root.path(), 3, "nvme", "pci0/nvme/nvme0", 41_850).join("temp1_input");
    sensor(root.path(), 0, "coretemp", "pci0", 95_000);
    sensor(root.path(), 4, "nvme", "pci0/nvme/nvme1", 70_000);
    let sensor = Thermometer::new(root.path()).sensor_of(data.path()).unwrap();
    assert_eq!((sensor.device.as_str(), sensor.celsius()), ("nvme0n1", Some(41.85)));
    fs::write(&file, "-5000\n").unwrap();
    assert_eq!(sensor.celsius(), Some(-5.0));
    fs::write(&file, "nonsense").unwrap();
    assert_eq!(sensor.celsius(), None);
    fs::remove_file(&file).unwrap();
    assert_eq!(sensor.celsius(), None);
}

#[test]
fn a_sata_drive_has_its_sensor_beside_it() {
    let (root, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tree(root.path(), data.path(), "pci0/ata1/host0/target0:0:0/0:0:0:0/block/sda");
    sensor(root.path(), 1, "drivetemp", "pci0/ata1/host0/target0:0:0/0:0:0:0", 33_000);
    let sensor = Thermometer::new(root.path()).sensor_of(data.path()).unwrap();
    assert_eq!((sensor.device.as_str(), sensor.celsius()), ("sda", Some(33.0)));
}

#[test]
fn a_device_of_several_is_as_hot_as_the_hottest() {
    let (root, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let raid = tree(root.path(), data.path(), "virtual/block/md0");
    fs::create_dir(raid.join("slaves")).unwrap();
    for (number, celsius) in [(0, 40_000), (1, 52_000)] {
        let drive = root.path().join(format!("devices/pci0/nvme/nvme{number}/nvme{number}n1"));
        fs::create_dir_all(&drive).unwrap();
        symlink(&drive, raid.join(format!("slaves/nvme{number}n1"))).unwrap();
        sensor(root.path(), number, "nvme", &format!("pci0/nvme/nvme{number}"), celsius);
    }
    let sensor = Thermometer::new(root.path()).sensor_of(data.path()).unwrap();
    assert_eq!(sensor.celsius(), Some(52.0));
    assert_eq!(sensor.device.split(',').count(), 2, "{}", sensor.device);
}

#[test]
fn no_sensor_is_no_error() {
    let (root, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_eq!(Thermometer::new(root.path()).sensor_of(data.path()), None);
    tree(root.path(), data.path(), "virtual/block/vda");
    sensor(root.path(), 0, "coretemp", "platform", 50_000);
    assert_eq!(Thermometer::new(root.path()).sensor_of(data.path()), None);
    assert_eq!(Thermometer::new(root.path()).sensor_of(Path::new("/no/such/path")), None);
}
