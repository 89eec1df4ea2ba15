//! Sample jobs for the tests of tables and screens.

use std::path::Path;
use xsort_status::{
    Counts, DriveState, FORMAT, FoundJob, Identity, Memory, Phase, Publisher, Snapshot, Stage,
    StatusDirectories, Wait, find,
};

fn snapshot(pid: u32) -> Snapshot {
    let words = ["/usr/bin/xsort", "sort", "-m", "1G", "-T", "/nvme1", "data", "-o", "sorted"];
    let wait = |on: &str, threads| Wait { on: on.into(), seconds: 1.0, threads };
    let stage = |name: &str, busy_threads, waits| Stage {
        name: name.into(),
        busy_seconds: 1.0,
        busy_threads,
        waits,
    };
    Snapshot {
        format: FORMAT,
        job: Identity {
            command: "sort".into(),
            arguments: words.map(str::to_owned).to_vec(),
            pid,
            user: "ada".into(),
            directory: "/home/ada".into(),
            ..Identity::default()
        },
        // In the future, so that the job isn't silent.
        taken_unix_seconds: 1e12,
        seconds: 125.0,
        phase: Phase {
            name: "merge".into(),
            number: 2,
            done_bytes: 4_600_000_000,
            bytes: 8_000_000_000,
            seconds: 9.0,
        },
        share_done: Some(0.785),
        seconds_left: Some(7.0),
        bytes_per_second_now: 512e6,
        bytes_per_second_mean: 480e6,
        curve: (0..120).map(|point| 1e6 * f64::from(point)).collect(),
        curve_step_seconds: 1.0,
        threads: 4,
        stages: vec![
            stage("spill", 0.0, vec![wait("write", 0.0)]),
            stage("output", 2.0, vec![wait("read", 0.2), wait("write", 1.0)]),
        ],
        read_bytes: 12_560_000_000,
        written_bytes: 12_000_000_000,
        counts: Counts { chunks: 63, chunks_all: Some(63), parts: 800, files: 0 },
        memory: Memory { resident_bytes: 1100 << 20, budget_bytes: 1 << 30 },
        drives: vec![DriveState {
            path: "/nvme1".into(),
            role: "scratch".into(),
            scratch_bytes: 3_440_000_000,
            device: Some("nvme1n1".into()),
            celsius: Some(71.0),
        }],
        limit_celsius: Some(80.0),
        notices: vec!["io_uring is forbidden here".into()],
        ..Snapshot::default()
    }
}

/// Publishes jobs with these process IDs. Returns their publishers, which keep them alive, and all
/// jobs that are found.
pub(super) fn jobs(home: &Path, pids: &[u32]) -> (Vec<Publisher>, Vec<FoundJob>) {
    let home = home.as_os_str().to_owned();
    let directories = StatusDirectories::from_environment(move |name| {
        (name == "XSORT_STATUS_DIR").then(|| home.clone())
    });
    let publish = |pid: &u32| {
        let mut publisher = Publisher::open(&directories, *pid).unwrap();
        publisher.publish(&snapshot(*pid)).unwrap();
        publisher
    };
    (pids.iter().map(publish).collect(), find(&directories))
}
