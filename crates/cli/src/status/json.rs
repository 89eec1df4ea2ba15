//! The jobs as one JSON object.

use crate::exit::Failure;
use crate::output;
use serde::Serialize;
use xsort_status::{FoundJob, JobReport, Leftovers};

#[derive(Serialize)]
struct JsonStatus<'a> {
    command: &'static str,
    version: u32,
    dry_run: bool,
    jobs: Vec<JobReport<'a>>,
}

/// The jobs, and what they left, as JSON.
pub(super) fn json<'a>(
    reported: impl Iterator<Item = (&'a FoundJob, &'a Leftovers)>,
) -> Result<String, Failure> {
    let jobs = reported.map(|(job, leftovers)| JobReport::new(job, leftovers)).collect();
    let version = output::JSON_VERSION;
    let status = JsonStatus { command: "status", version, dry_run: false, jobs };
    output::json(&status).map(|text| text + "\n")
}
