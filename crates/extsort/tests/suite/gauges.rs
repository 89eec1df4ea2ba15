//! The gauges of a running job agree with its report at the end, and can be read while it runs.

use crate::sort::generated;
use std::sync::Mutex;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::records::Method;
use xsort_extsort::{Gauges, Observer, Reading, SortOptions, SortReport, sort};
use xsort_records::{Format, Pattern};

/// Reads the gauges at every step.
#[derive(Default)]
struct Watcher {
    gauges: Mutex<Option<Gauges>>,
    readings: Mutex<Vec<Reading>>,
    expected: Mutex<Vec<(String, u64)>>,
    phases: Mutex<Vec<(String, u64)>>,
}

impl Observer for Watcher {
    fn phase(&self, name: &str, bytes: u64) {
        self.phases.lock().unwrap().push((name.into(), bytes));
    }

    fn advance(&self, _bytes: u64) {
        let reading =
            self.gauges.lock().unwrap().as_ref().expect("shown before the first step").read();
        self.readings.lock().unwrap().push(reading);
    }

    fn notice(&self, _line: &str) {}

    fn expect(&self, phases: &[(&str, u64)]) {
        *self.expected.lock().unwrap() =
            phases.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
    }

    fn show(&self, gauges: Gauges) {
        *self.gauges.lock().unwrap() = Some(gauges);
    }
}

fn watched(method: Method) -> (Watcher, SortReport) {
    let format = Format::Gensort;
    let options = SortOptions {
        inputs: vec!["/in".into()],
        output: "/out".into(),
        method,
        scratch: vec!["/a".into(), "/b".into()],
        sync: false,
        ..SortOptions::new(format.layout(), 1 << 20, 2)
    };
    let disk = SimDisk::new(SimOptions::default());
    disk.put("/in", generated(format, Pattern::Uniform, 40_000));
    let watcher = Watcher::default();
    let report = sort(&options, &disk, &watcher).unwrap();
    (watcher, report)
}

fn sees_what_is_reported(method: Method, stages: &[&str]) {
    let (watcher, report) = watched(method);
    let last = watcher.gauges.lock().unwrap().as_ref().unwrap().read();
    assert_eq!(last.chunks, report.plan.chunks as u64);
    assert_eq!(last.frame.chunks, Some(last.chunks));
    assert_eq!((last.frame.record_bytes, last.frame.budget_bytes), (Some(100), 1 << 20));
    assert_eq!(last.moved.read_bytes, report.moved.read_bytes);
    assert_eq!(last.moved.written_bytes, report.moved.written_bytes);
    assert!(last.parts > 0);
    let names: Vec<&str> = last.stages.iter().map(|stage| stage.name).collect();
    for stage in stages {
        assert!(names.contains(stage), "{stage} in {names:?}");
    }
    let directories: Vec<_> = last.scratch.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(
        directories,
        report.scratch.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>()
    );
    let placed: u64 = report.scratch.iter().map(|(_, bytes)| bytes).sum();
    let readings = watcher.readings.into_inner().unwrap();
    let used = |reading: &Reading| reading.scratch.iter().map(|(_, bytes)| bytes).sum::<u64>();
    let most = readings.iter().map(used).max().unwrap();
    assert!(most > 0 && most <= placed, "{most} of {placed}");
    assert!(readings.windows(2).all(|pair| pair[0].chunks <= pair[1].chunks));

    let (expected, phases) =
        (watcher.expected.into_inner().unwrap(), watcher.phases.into_inner().unwrap());
    for foreseen in [expected.first(), expected.last()] {
        assert!(phases.contains(foreseen.unwrap()), "{expected:?} and {phases:?}");
    }
}

#[test]
fn of_runs_and_merge() {
    sees_what_is_reported(Method::Merge, &["sort", "spill", "output"]);
}

#[test]
fn of_scatter_and_gather() {
    sees_what_is_reported(Method::Scatter, &["sort", "scatter", "spill", "output"]);
}
