//! A job's state in a word.

use std::time::{SystemTime, UNIX_EPOCH};
use xsort_status::{FoundJob, Life, Snapshot};

/// A job that published nothing for so many seconds is stopped (SIGSTOP, Ctrl-Z), or the machine is
/// far too busy.
const SILENT_SECONDS: f64 = 3.0;

/// Seconds since the job's last snapshot.
pub(super) fn silence_seconds(snapshot: &Snapshot) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    (now - snapshot.taken_unix_seconds).max(0.0)
}

/// The job's state: running, cooling, stopped, dead or over.
pub(super) fn state(job: &FoundJob) -> &'static str {
    match (job.life(), job.snapshot()) {
        (Life::Dead, _) => "dead",
        (Life::Over, _) => "over",
        (Life::Running, Some(snapshot)) if silence_seconds(snapshot) > SILENT_SECONDS => "stopped",
        (Life::Running, Some(snapshot)) if snapshot.is_paused => "cooling",
        (Life::Running, _) => "running",
    }
}

/// The word between a job's state and its time: it runs for a time, or died after it.
pub(super) fn preposition(job: &FoundJob) -> &'static str {
    if job.life() == Life::Running { "for" } else { "after" }
}

/// Why a job has no snapshot.
pub(super) fn trouble(job: &FoundJob) -> &str {
    job.trouble().unwrap_or("it published nothing")
}
