//! Removes what killed jobs left.

use super::uploads::abort_all;
use super::words::leftovers_text;
use crate::exit::Failure;
use crate::output::{self, all_but_last, write_stdout};
use crate::signals::Stop;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use xsort_disk::DisplayPath;
use xsort_status::{Cleared, FoundJob, Inventory, Leftovers, Life};

/// The JSON of what was removed, and what could not be.
#[derive(Default, Serialize)]
struct JsonCleared {
    command: &'static str,
    version: u32,
    dry_run: bool,
    #[serde(serialize_with = "output::lossy_all")]
    removed: Vec<PathBuf>,
    failed: Vec<String>,
}

/// Clears the dead jobs one after the other, even after failures. A signal ends it between two
/// jobs.
pub(super) fn clear_all(jobs: &[FoundJob], is_json: bool, stop: &Stop) -> Result<(), Failure> {
    let mut inventory = Inventory::default();
    let (mut text, mut failures) = (String::new(), Vec::new());
    let mut all =
        JsonCleared { command: "status", version: output::JSON_VERSION, ..JsonCleared::default() };
    for job in jobs.iter().filter(|job| job.life() == Life::Dead).take_while(|_| !stop.is_set()) {
        let uploads = inventory.leftovers(job).uploads;
        if let Err(failure) = abort_all(&uploads) {
            // The job's status stays, because it names the uploads.
            failures.push(failure);
            continue;
        }
        let Cleared { removed, failures: failed } = inventory.clear(job);
        let removed = Leftovers { uploads, ..removed };
        // Nothing was removed if another process clears the job, or a new job took its name.
        if removed != Leftovers::default() {
            let removed = leftovers_text(&removed);
            let _ = writeln!(text, "job {}: removed {removed}", job.name());
        }
        let uploads = removed.uploads.into_iter().map(|upload| upload.url.into());
        let hidden = removed.hidden.into_iter().map(|(path, _)| path);
        all.removed.extend(uploads.chain(hidden).chain(removed.status));
        failures.extend(failed.into_iter().map(|(path, source)| {
            let what = format!("clearing job {}: {}", job.name(), DisplayPath(&path));
            Failure::File { what, source }
        }));
    }
    if is_json {
        all.failed = failures.iter().map(ToString::to_string).collect();
        text = output::json(&all)? + "\n";
    } else if text.is_empty() && failures.is_empty() && !stop.is_set() {
        text = "no killed job left anything\n".into();
    }
    if !text.is_empty() {
        write_stdout(text.as_bytes())?;
    }
    if stop.is_set() {
        failures.push(Failure::Stopped {
            so_far: ": what is cleared is listed, the rest is as it was",
        });
    }
    all_but_last(failures)
}
