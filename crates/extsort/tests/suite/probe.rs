//! Measuring a drive returns figures for each direction, leaves no file, and reports failures.

use std::path::Path;
use std::time::Duration;
use xsort_disk::{Fault, FaultSite, Operation, SimDisk, SimOptions};
use xsort_extsort::{Error, probe};

const TIME: Duration = Duration::from_millis(5);

#[test]
fn every_direction_has_a_rate_and_nothing_stays() {
    for budget in [4096, 10_000, 64 << 20] {
        let disk = SimDisk::new(SimOptions::rough(budget));
        let rates = probe(&disk, Path::new("/d"), budget, TIME).unwrap();
        for rate in [
            rates.read_bytes_per_second,
            rates.write_bytes_per_second,
            rates.mixed_read_bytes_per_second,
            rates.mixed_write_bytes_per_second,
        ] {
            assert!(rate > 0.0 && rate.is_finite(), "{rates:?}");
        }
        assert_eq!((disk.open_files(), disk.space_bytes(), disk.paths().len()), (0, 0, 0));
    }
}

#[test]
fn a_nearly_full_drive_is_measured_in_little_space_and_a_full_one_not_at_all() {
    let small = SimDisk::new(SimOptions { capacity_bytes: Some(9 << 20), ..SimOptions::default() });
    probe(&small, Path::new("/d"), 16 << 20, TIME).unwrap();
    let full = SimDisk::new(SimOptions { capacity_bytes: Some(1000), ..SimOptions::default() });
    let error = probe(&full, Path::new("/d"), 16 << 20, TIME).unwrap_err();
    assert!(matches!(error, Error::Space { .. }), "{error:?}");
}

#[test]
fn failures_are_reported_and_nothing_stays() {
    for operation in [Operation::Create, Operation::Reserve, Operation::Write, Operation::Read] {
        let fault = Fault { operation, role: None, site: FaultSite::Everywhere, errno: 5 };
        let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::default() });
        let error = probe(&disk, Path::new("/d"), 1 << 20, TIME).unwrap_err();
        assert!(matches!(&error, Error::Disk(error) if error.operation == operation), "{error:?}");
        assert_eq!((disk.open_files(), disk.space_bytes()), (0, 0));
    }
}
