//! The jobs that are shown.

use crate::exit::Failure;
use crate::output::write_stderr;
use crate::signals::Stop;
use xsort_status::{FoundJob, Inventory, Leftovers, Search, StatusDirectories, search};

/// All jobs, or the job of this name. Prints a note for each directory that can't be read.
pub(super) fn select_jobs(
    directories: &StatusDirectories,
    name: Option<&str>,
    stop: &Stop,
) -> Result<Vec<FoundJob>, Failure> {
    let Search { mut jobs, troubles } = search(directories, Vec::new(), &|| stop.is_set());
    if stop.is_set() {
        return Err(Failure::Stopped { so_far: "" });
    }
    for trouble in troubles {
        write_stderr(&format!("note: can't look for jobs in {trouble}"));
    }
    if let Some(name) = name {
        jobs.retain(|job| job.is_called(name));
        if jobs.is_empty() {
            return Err(Failure::Usage(format!(
                "no job {name} was found: it has ended, has run for less than a quarter of a \
                 second, or belongs to another user; 'xsort status' lists all jobs"
            )));
        }
    }
    Ok(jobs)
}

/// What each job left.
pub(super) fn leftovers_of(jobs: &[FoundJob], stop: &Stop) -> Result<Vec<Leftovers>, Failure> {
    let mut inventory = Inventory::default();
    let leftovers =
        jobs.iter().map_while(|job| (!stop.is_set()).then(|| inventory.leftovers(job))).collect();
    if stop.is_set() { Err(Failure::Stopped { so_far: "" }) } else { Ok(leftovers) }
}
