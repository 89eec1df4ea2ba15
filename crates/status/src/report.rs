//! Everything known about a job, for programs: `xsort status --json`, and Python's `xsort.jobs`.

use crate::job::{FoundJob, Life};
use crate::leftovers::Leftovers;
use crate::snapshot::Snapshot;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A job that has published nothing for this many seconds is stopped (SIGSTOP, Ctrl-Z), or the
/// machine is far too busy.
const SILENT_SECONDS: f64 = 3.0;

/// Everything known about a job, to be serialised.
#[derive(Debug, Serialize)]
pub struct JobReport<'a> {
    /// running, cooling, stopped or dead.
    pub state: &'static str,
    /// The name under which it was found.
    pub name: &'a str,
    /// The common beginning of the paths of its files.
    #[serde(serialize_with = "lossy")]
    pub files: &'a Path,
    /// Files and uploads that a dead job left.
    pub leftovers: Option<LeftoversReport<'a>>,
    /// Why its state can't be read.
    pub trouble: Option<&'a str>,
    /// Its last published snapshot.
    pub snapshot: Option<&'a Snapshot>,
}

/// Files and uploads that a dead job left.
#[derive(Debug, Serialize)]
pub struct LeftoversReport<'a> {
    /// The files of its status.
    #[serde(serialize_with = "lossy_all")]
    pub status: Vec<&'a Path>,
    /// Hidden files with its data.
    #[serde(serialize_with = "lossy_all")]
    pub hidden: Vec<&'a Path>,
    /// The sum of their sizes in bytes.
    pub hidden_bytes: u64,
    /// The URLs of uploads in stores.
    pub uploads: Vec<&'a str>,
}

impl<'a> JobReport<'a> {
    /// Creates the report of a job with its leftovers.
    pub fn new(job: &'a FoundJob, leftovers: &'a Leftovers) -> JobReport<'a> {
        let Leftovers { status, hidden, uploads } = leftovers;
        let leftovers = (job.life() == Life::Dead).then(|| LeftoversReport {
            status: status.iter().map(PathBuf::as_path).collect(),
            hidden: hidden.iter().map(|(path, _)| path.as_path()).collect(),
            hidden_bytes: hidden.iter().map(|(_, bytes)| bytes).sum(),
            uploads: uploads.iter().map(|upload| &*upload.url).collect(),
        });
        JobReport {
            state: job.state(),
            name: job.name(),
            files: job.prefix(),
            leftovers,
            trouble: job.trouble(),
            snapshot: job.snapshot(),
        }
    }
}

impl FoundJob {
    /// Returns the job's state in a word: running, cooling, stopped, dead or over.
    pub fn state(&self) -> &'static str {
        match (self.life(), self.snapshot()) {
            (Life::Dead, _) => "dead",
            (Life::Over, _) => "over",
            (Life::Running, Some(snapshot)) if snapshot.silence_seconds() > SILENT_SECONDS => {
                "stopped"
            }
            (Life::Running, Some(snapshot)) if snapshot.is_paused => "cooling",
            (Life::Running, _) => "running",
        }
    }
}

impl Snapshot {
    /// Returns the seconds since the snapshot was taken.
    pub fn silence_seconds(&self) -> f64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        (now.map_or(0.0, |since| since.as_secs_f64()) - self.taken_unix_seconds).max(0.0)
    }
}

/// Serialises a path as text, whatever bytes it has.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

fn lossy_all<S: Serializer>(paths: &[&Path], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.display().to_string()))
}
