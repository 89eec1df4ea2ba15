//! All that is known of a job, for programs: `xsort status --json`, and Python's `xsort.jobs`.

use crate::job::{FoundJob, Life};
use crate::leftovers::Leftovers;
use crate::snapshot::Snapshot;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A job that published nothing for so many seconds is stopped (SIGSTOP, Ctrl-Z), or the machine is
/// far too busy.
const SILENT_SECONDS: f64 = 3.0;

/// All that is known of a job, to be serialised.
#[derive(Debug, Serialize)]
pub struct JobReport<'a> {
    /// running, cooling, stopped or dead.
    pub state: &'static str,
    /// The name that it was found under.
    pub name: &'a str,
    /// The common beginning of the paths of its files.
    #[serde(serialize_with = "lossy")]
    pub files: &'a Path,
    /// What a dead job left.
    pub leftovers: Option<LeftoversReport<'a>>,
    /// Why its state can't be read.
    pub trouble: Option<&'a str>,
    /// What it published last.
    pub snapshot: Option<&'a Snapshot>,
}

/// What a dead job left.
#[derive(Debug, Serialize)]
pub struct LeftoversReport<'a> {
    /// The files of its status.
    #[serde(serialize_with = "lossy_all")]
    pub status: Vec<&'a Path>,
    /// Hidden files with its data.
    #[serde(serialize_with = "lossy_all")]
    pub hidden: Vec<&'a Path>,
    /// Their bytes.
    pub hidden_bytes: u64,
    /// The URLs of uploads in stores.
    pub uploads: Vec<&'a str>,
}

impl<'a> JobReport<'a> {
    /// Of a job, and what it left.
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
    /// The job's state in a word: running, cooling, stopped, dead or over.
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
    /// Seconds since it was taken.
    pub fn silence_seconds(&self) -> f64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        (now.map_or(0.0, |since| since.as_secs_f64()) - self.taken_unix_seconds).max(0.0)
    }
}

/// Paths as text, whatever bytes they have.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

fn lossy_all<S: Serializer>(paths: &[&Path], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.display().to_string()))
}
