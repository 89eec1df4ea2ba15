//! The watcher's side: which jobs there are, and whether they live.
//!
//! A job lives while its process holds the lock of its shared memory; the number of a process says nothing, for it may be another's by now.

use crate::{Place, Snapshot};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use xsort_shm::{Reader, ReaderOptions, Xxh3};

/// A job that is making its files gets so long to be done with it; one that was killed then never is.
const NASCENT_LOOKS: u32 = 10;
const NASCENT_PAUSE: Duration = Duration::from_millis(5);

/// A job that was found.
#[derive(Clone)]
pub struct Found {
    prefix: PathBuf,
    reader: Option<Reader<Xxh3>>,
    life: Life,
    /// The number of the version that `snapshot` or `trouble` are of.
    read: Option<u64>,
    snapshot: Option<Snapshot>,
    trouble: Option<String>,
}

/// Whether a job lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Its process is there.
    Running,
    /// Its process is gone, without having taken its leave: killed, or the machine was.
    Dead,
    /// It took its leave since it was found.
    Over,
}

/// All jobs of these directories, dead ones too, the oldest first.
pub fn find(place: &Place) -> Vec<Found> {
    let mut found: Vec<Found> = place
        .directories()
        .iter()
        .flat_map(|directory| prefixes(directory))
        .filter_map(Found::open)
        .collect();
    let begun =
        |found: &Found| found.snapshot.as_ref().map_or(0.0, |snapshot| snapshot.job.started_unix_seconds);
    found.sort_by(|a, b| begun(a).total_cmp(&begun(b)).then_with(|| a.prefix.cmp(&b.prefix)));
    found
}

/// What has the files of a job in a directory.
fn prefixes(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut stems: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (stem, suffix) = name.rsplit_once('.')?;
            let is_part = suffix == "state" || suffix == "readers" || suffix.starts_with("buffer-");
            let is_job = stem.starts_with(|first: char| first.is_ascii_digit())
                && stem.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            (is_part && is_job).then(|| stem.to_owned())
        })
        .collect();
    stems.sort();
    stems.dedup();
    stems.into_iter().map(|stem| directory.join(stem)).collect()
}

impl Found {
    /// Looks at a job, if there is one. One that has not said anything yet is none.
    fn open(prefix: PathBuf) -> Option<Found> {
        // Copied before it is looked at: a snapshot is short, and no slot of the job's is taken for longer.
        let mut options = ReaderOptions::default();
        options.copy = true;
        let mut opened = Reader::<Xxh3>::with_options(&prefix, options.clone());
        for _ in 0..NASCENT_LOOKS {
            if !matches!(opened, Err(xsort_shm::Error::NotReady { .. })) {
                break;
            }
            thread::sleep(NASCENT_PAUSE);
            opened = Reader::with_options(&prefix, options.clone());
        }
        let mut found = match opened {
            Ok(reader) => {
                let life = Life::Running;
                Found { prefix, reader: Some(reader), life, read: None, snapshot: None, trouble: None }
            }
            Err(error) => {
                let trouble = Some(error.to_string());
                Found { prefix, reader: None, life: Life::Dead, read: None, snapshot: None, trouble }
            }
        };
        found.refresh();
        // Taken away between the listing and now; or so young that it has nothing to say.
        let is_nothing = found.life == Life::Over
            || (found.reader.is_none() && prefixes_gone(&found.prefix))
            || (found.life == Life::Running && found.snapshot.is_none() && found.trouble.is_none());
        (!is_nothing).then_some(found)
    }

    /// Looks again. What was known last stays if there is nothing newer.
    pub fn refresh(&mut self) {
        let Some(reader) = &self.reader else { return };
        // In this order: who takes leave removes its files first, and ends then.
        let has_writer = reader.has_writer().unwrap_or(false);
        let is_orphaned = reader.is_orphaned().unwrap_or(true);
        self.life = match (is_orphaned, has_writer) {
            (true, _) => Life::Over,
            (false, true) => Life::Running,
            (false, false) => Life::Dead,
        };
        match reader.read() {
            // Understood before, or not.
            Ok(version) if self.read == Some(version.sequence()) => {}
            Ok(version) => {
                self.read = Some(version.sequence());
                match Snapshot::parse(&version) {
                    Ok(snapshot) => (self.snapshot, self.trouble) = (Some(snapshot), None),
                    Err(error) => self.trouble = Some(error.to_string()),
                }
            }
            Err(xsort_shm::Error::NotReady { .. }) => {}
            Err(error) => (self.read, self.trouble) = (None, Some(error.to_string())),
        }
    }

    /// The beginning of the names of its files.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The name that it was found under: the number of its process, and more where several have the same.
    pub fn name(&self) -> &str {
        self.prefix.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether it lived when it was looked at last.
    pub fn life(&self) -> Life {
        self.life
    }

    /// What it said last, if it was understood.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Why it can't be understood.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Whether it answers to this: the number of the process, or the name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name() == name || self.snapshot().is_some_and(|snapshot| snapshot.job.pid.to_string() == name)
    }
}

/// Whether nothing of a prefix is left.
fn prefixes_gone(prefix: &Path) -> bool {
    let Some(directory) = prefix.parent() else { return true };
    !prefixes(directory).iter().any(|other| other == prefix)
}
