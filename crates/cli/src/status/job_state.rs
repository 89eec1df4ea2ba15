//! A job's state in words.

use xsort_status::{FoundJob, Life};

/// The word between a job's state and its time: "running for 5 s", "dead after 5 s".
pub(super) fn preposition(job: &FoundJob) -> &'static str {
    if job.life() == Life::Running { "for" } else { "after" }
}

/// The reason why a job has no snapshot.
pub(super) fn trouble(job: &FoundJob) -> &str {
    job.trouble().unwrap_or("it published nothing")
}
