//! What jobs publish and watchers find, without a job: snapshots of any bytes, lives and deaths,
//! leftovers, drives in a tree made of files.

mod drives;
mod jobs;
mod pace;
mod snapshots;

use std::path::Path;
use xsort_status::{FORMAT, Identity, Snapshot, StatusDirectories};

/// Jobs publish in this directory.
fn place(directory: &Path) -> StatusDirectories {
    let directory = directory.as_os_str().to_owned();
    StatusDirectories::from_environment(move |name| {
        (name == "XSORT_STATUS_DIR").then(|| directory.clone())
    })
}

/// What a job might say, whose number is `pid`.
fn snapshot(pid: u32) -> Snapshot {
    let job =
        Identity { command: "sort".into(), pid, started_unix_seconds: 1e9, ..Identity::default() };
    Snapshot {
        format: FORMAT,
        job,
        taken_unix_seconds: 1e9 + 10.0,
        seconds: 10.0,
        ..Snapshot::default()
    }
}
