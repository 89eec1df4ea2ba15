//! The watcher's side: all jobs in some directories.

use crate::job::{FoundJob, Life, Lookup};
use crate::job_files::{self, FilesByJob, JobFiles, state_file};
use crate::status_directories::StatusDirectories;
use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// How often nascent jobs are tried again, all together. A job that still has no writer then was
/// killed while it created its files.
const NASCENT_ATTEMPTS: u32 = 10;
const NASCENT_PAUSE: Duration = Duration::from_millis(5);

/// The jobs in some directories.
#[derive(Default)]
pub struct Search {
    /// Living jobs first, then dead ones; each group from the oldest to the youngest.
    pub jobs: Vec<FoundJob>,
    /// Directories that can't be read, and why.
    pub troubles: Vec<String>,
}

/// Finds all jobs in these directories, including dead ones: living jobs first, each group from the
/// oldest to the youngest.
pub fn find(directories: &StatusDirectories) -> Vec<FoundJob> {
    search(directories, Vec::new(), &|| false).jobs
}

/// Finds all jobs in these directories, reusing those in `known`. Ends early when `is_stopped`.
pub fn search(
    directories: &StatusDirectories,
    known: Vec<FoundJob>,
    is_stopped: &dyn Fn() -> bool,
) -> Search {
    let mut known: HashMap<PathBuf, FoundJob> =
        known.into_iter().map(|job| (job.prefix().to_owned(), job)).collect();
    let (directories, mut troubles) = directories.readable();
    let (mut jobs, mut nascent) = (Vec::new(), Vec::new());
    for directory in directories {
        let listed = job_files::list(&directory).unwrap_or_else(|error| {
            troubles.push(format!("{}: {error}", directory.display()));
            FilesByJob::new()
        });
        for (prefix, files) in listed {
            if is_stopped() {
                return Search { jobs, troubles };
            }
            if let Some(job) = known.remove(&prefix).and_then(FoundJob::refreshed) {
                jobs.push(job);
                continue;
            }
            match FoundJob::open(prefix, &files) {
                Lookup::Job(job) => jobs.push(*job),
                Lookup::Nascent(prefix) => nascent.push((prefix, files)),
                Lookup::Nothing => {}
            }
        }
    }
    jobs.extend(wait_for_nascent(nascent, is_stopped));
    sort(&mut jobs);
    Search { jobs, troubles }
}

/// Sorts living jobs before dead ones, each group from the oldest to the youngest.
fn sort(jobs: &mut [FoundJob]) {
    let started =
        |job: &FoundJob| job.snapshot().map_or(0.0, |snapshot| snapshot.job.started_unix_seconds);
    let is_dead = |job: &FoundJob| job.life() == Life::Dead;
    jobs.sort_by(|a, b| {
        let by_age = || started(a).total_cmp(&started(b)).then_with(|| a.prefix().cmp(b.prefix()));
        is_dead(a).cmp(&is_dead(b)).then_with(by_age)
    });
}

/// Waits for all jobs whose state is empty or has no writer yet. A job that still has none then is
/// dead.
fn wait_for_nascent(
    mut nascent: Vec<(PathBuf, JobFiles)>,
    is_stopped: &dyn Fn() -> bool,
) -> Vec<FoundJob> {
    let mut jobs = Vec::new();
    for _ in 0..NASCENT_ATTEMPTS {
        if nascent.is_empty() || is_stopped() {
            break;
        }
        thread::sleep(NASCENT_PAUSE);
        for (prefix, files) in mem::take(&mut nascent) {
            match FoundJob::open(prefix, &files) {
                Lookup::Job(job) => jobs.push(*job),
                Lookup::Nascent(prefix) => nascent.push((prefix, files)),
                Lookup::Nothing => {}
            }
        }
    }
    let dead = nascent.into_iter().filter(|(prefix, _)| state_file(prefix).exists());
    jobs.extend(dead.map(|(prefix, _)| {
        let trouble = "its process ended before it published anything".to_owned();
        FoundJob::unreadable(prefix, Life::Dead, trouble)
    }));
    jobs
}
