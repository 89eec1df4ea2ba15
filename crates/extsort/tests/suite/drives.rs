//! Scratch on several simulated drives that take real time: each gets blocks in proportion to its
//! speed.
//!
//! The bounds are far from the measurements (docs/experiments/2026-11-21-large-machine.md): a busy
//! machine leaves drives idle, and then the fastest one takes every block. But equal shares fail.

use crate::sort::{generated, oracle};
use xsort_disk::{SimDisk, SimDrive, SimOptions, Throttle};
use xsort_extsort::records::Method;
use xsort_extsort::{SortOptions, SortReport, Unobserved, sort};
use xsort_records::{Format, Pattern};

/// Blocks of 4 KiB, so that the drives and not the processor set the pace.
const RECORDS: u64 = 36_000;

/// Returns a drive that writes this many bytes per second. Its reads take almost no time.
fn drive(directory: &str, write_bytes_per_second: f64) -> SimDrive {
    SimDrive { write_bytes_per_second, ..SimDrive::new(directory, 1e9) }
}

fn sort_on(drives: Vec<SimDrive>, method: Method) -> SortReport {
    let format = Format::Block4k;
    let options = SortOptions {
        inputs: vec!["/in".into()],
        output: "/out".into(),
        method,
        scratch: drives.iter().map(|drive| drive.directory.clone()).collect(),
        sync: false,
        ..SortOptions::new(format.layout(), 32 << 20, 2)
    };
    let disk = SimDisk::new(SimOptions { drives, ..SimOptions::default() });
    let bytes = generated(format, Pattern::Uniform, RECORDS);
    disk.put("/in", &bytes);
    let report = sort(&options, &disk, &Unobserved).unwrap();
    assert!(disk.get("/out").unwrap() == oracle(&format.layout(), &bytes));
    report
}

/// Returns the bytes on each drive.
fn placed(report: &SortReport) -> Vec<u64> {
    report.scratch.iter().map(|(_, bytes)| *bytes).collect()
}

/// A machine that is busy may hold the fast drives up: so it is tried again.
fn drives_get_blocks_by_their_rates(method: Method) {
    let mut found = Vec::new();
    for _ in 0..5 {
        let drives = vec![drive("/slow", 12.5e6), drive("/middle", 25e6), drive("/fast", 50e6)];
        let report = sort_on(drives, method);
        let [slow, middle, fast] = placed(&report)[..] else { panic!("three directories") };
        if fast > middle && 10 * middle > 9 * slow && 2 * fast > 3 * slow {
            return;
        }
        found.push((slow, middle, fast));
    }
    panic!("bytes of the slow, the middle and the fast drive: {found:?}");
}

#[test]
fn runs_go_to_drives_by_their_rates() {
    drives_get_blocks_by_their_rates(Method::Merge);
}

#[test]
fn bins_go_to_drives_by_their_rates() {
    drives_get_blocks_by_their_rates(Method::Scatter);
}

/// Tried again as above.
fn a_drive_that_throttles_gets_less_from_then_on(method: Method) {
    let mut found = Vec::new();
    for _ in 0..5 {
        let throttle = Some(Throttle { after_bytes: 30_000_000, share: 0.1 });
        let drives = vec![SimDrive { throttle, ..drive("/hot", 50e6) }, drive("/cool", 50e6)];
        let report = sort_on(drives, method);
        let [hot, cool] = placed(&report)[..] else { panic!("two directories") };
        if 2 * cool > 3 * hot {
            return;
        }
        found.push((hot, cool));
    }
    panic!("bytes of the hot and the cool drive: {found:?}");
}

#[test]
fn runs_avoid_a_drive_that_throttles() {
    a_drive_that_throttles_gets_less_from_then_on(Method::Merge);
}

#[test]
fn bins_avoid_a_drive_that_throttles() {
    a_drive_that_throttles_gets_less_from_then_on(Method::Scatter);
}

/// The coordinator's figures appear in both forms of the report.
#[test]
fn the_report_says_what_the_coordinator_costs() {
    for method in [Method::Merge, Method::Scatter] {
        let report = sort_on(vec![SimDrive::new("/scratch", 1e9)], method);
        let stages = &serde_json::to_value(&report).unwrap()["stage_seconds"];
        let seconds = |name: &str| stages[name].as_f64().unwrap();
        assert!(seconds("coordinator_busy") > seconds("forecast_busy"), "{stages}");
        for of_merges in ["forecast_busy", "hand_out_busy", "cut_busy"] {
            assert_eq!(seconds(of_merges) > 0.0, method == Method::Merge, "{stages}");
        }
        assert!(format!("{report:#}").contains("coordinator busy"), "{report:#}");
        assert_eq!(report.to_string().lines().count(), 3, "{report}");
    }
}
