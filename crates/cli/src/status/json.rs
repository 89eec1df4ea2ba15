//! Jobs as one JSON object.

use super::job_state::state;
use crate::exit::Failure;
use crate::output;
use serde::Serialize;
use std::path::{Path, PathBuf};
use xsort_status::{FoundJob, Leftovers, Life, Snapshot};

#[derive(Serialize)]
struct JsonStatus<'a> {
    command: &'static str,
    version: u32,
    dry_run: bool,
    jobs: Vec<JsonJob<'a>>,
}

#[derive(Serialize)]
struct JsonJob<'a> {
    /// running, cooling, stopped or dead.
    state: &'static str,
    name: &'a str,
    #[serde(serialize_with = "output::lossy")]
    files: &'a Path,
    leftovers: Option<JsonLeftovers<'a>>,
    trouble: Option<&'a str>,
    snapshot: Option<&'a Snapshot>,
}

/// What a dead job left.
#[derive(Serialize)]
struct JsonLeftovers<'a> {
    #[serde(serialize_with = "output::lossy_all")]
    status: &'a [PathBuf],
    #[serde(serialize_with = "output::lossy_all")]
    hidden: Vec<PathBuf>,
    hidden_bytes: u64,
}

/// The jobs, and what they left.
pub(super) fn json<'a>(
    reported: impl Iterator<Item = (&'a FoundJob, &'a Leftovers)>,
) -> Result<String, Failure> {
    let jobs = reported.map(|(job, leftovers)| JsonJob {
        state: state(job),
        name: job.name(),
        files: job.prefix(),
        leftovers: (job.life() == Life::Dead).then(|| JsonLeftovers {
            status: &leftovers.status,
            hidden: leftovers.hidden.iter().map(|(path, _)| path.clone()).collect(),
            hidden_bytes: leftovers.hidden.iter().map(|(_, bytes)| bytes).sum(),
        }),
        trouble: job.trouble(),
        snapshot: job.snapshot(),
    });
    let status = JsonStatus {
        command: "status",
        version: output::JSON_VERSION,
        dry_run: false,
        jobs: jobs.collect(),
    };
    output::json(&status).map(|text| text + "\n")
}
