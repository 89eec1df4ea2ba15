//! The watcher's side: all jobs of some directories.

use crate::job::{FoundJob, Life, Lookup};
use crate::job_files::{self, FilesByJob, JobFiles, state_file};
use crate::status_directories::StatusDirectories;
use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// How often nascent jobs are tried again, all of them together. One that still has no writer then
/// was killed while it made its files.
const NASCENT_ATTEMPTS: u32 = 10;
const NASCENT_PAUSE: Duration = Duration::from_millis(5);

/// The jobs of some directories.
#[derive(Default)]
pub struct Search {
    /// Living jobs before dead ones, the oldest first.
    pub jobs: Vec<FoundJob>,
    /// Directories that can't be read, and why.
    pub troubles: Vec<String>,
}

/// All jobs of these directories, dead ones too: living jobs before dead ones, the oldest first.
pub fn find(directories: &StatusDirectories) -> Vec<FoundJob> {
    search(directories, Vec::new(), &|| false).jobs
}

/// The same, starting from jobs that are `known` already. Ends early when `is_stopped`.
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

/// Living jobs before dead ones, the oldest first.
fn sort(jobs: &mut [FoundJob]) {
    let started =
        |job: &FoundJob| job.snapshot().map_or(0.0, |snapshot| snapshot.job.started_unix_seconds);
    let is_dead = |job: &FoundJob| job.life() == Life::Dead;
    jobs.sort_by(|a, b| {
        let by_age = || started(a).total_cmp(&started(b)).then_with(|| a.prefix().cmp(b.prefix()));
        is_dead(a).cmp(&is_dead(b)).then_with(by_age)
    });
}

/// Waits for jobs whose state is empty or has no writer yet, all of them together. One that still
/// has none then is dead.
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
