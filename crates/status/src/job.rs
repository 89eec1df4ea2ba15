//! The watcher's side: one job, and whether it lives.
//!
//! A job lives while its process holds the lock of its shared memory. The process ID proves
//! nothing: another process may have it now.

use crate::job_files::{JobFiles, state_file};
use crate::snapshot::Snapshot;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_shm::{Reader, ReaderOptions, Xxh3, has_writer};

/// A job that was found.
#[derive(Clone)]
pub struct FoundJob {
    prefix: PathBuf,
    /// Only for living jobs: thousands of dead ones must not take thousands of descriptors.
    reader: Option<Reader<Xxh3>>,
    life: Life,
    /// The state file's version before it was opened.
    state_version: Option<StateFileVersion>,
    /// The number of the version that `snapshot` or `trouble` describes.
    sequence: Option<u64>,
    snapshot: Option<Snapshot>,
    trouble: Option<String>,
}

/// Whether a job lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Its process lives.
    Running,
    /// Its process or its machine was killed, and its status files remain.
    Dead,
    /// It has ended and removed its status since it was found.
    Over,
}

/// Device, inode, and the time at which owner, mode or content last changed. A job that takes over
/// a dead job's name sets the mode of its files.
type StateFileVersion = (u64, u64, i64, i64);

/// The result of looking under a prefix.
pub(crate) enum Lookup {
    Job(Box<FoundJob>),
    /// A state without a writer: its job is about to write, or was killed before it could.
    Nascent(PathBuf),
    /// Nothing: removed since the directory was listed, or too young to have published.
    Nothing,
}

impl FoundJob {
    /// Returns the job under a prefix, if there is one.
    pub(crate) fn at(prefix: &Path) -> Option<FoundJob> {
        match FoundJob::open(prefix.to_owned(), &JobFiles::default()) {
            Lookup::Job(job) => Some(*job),
            Lookup::Nascent(_) | Lookup::Nothing => None,
        }
    }

    pub(crate) fn open(prefix: PathBuf, files: &JobFiles) -> Lookup {
        if let Some(trouble) = files.foreign_state() {
            return Lookup::Job(Box::new(FoundJob::unreadable(prefix, Life::Dead, trouble)));
        }
        // Before the file is opened, so that a job that takes over the name later is noticed.
        let state_version = state_version(&prefix);
        // Copied before it is parsed. A snapshot is short, and so the reader holds no buffer of the
        // job.
        let mut options = ReaderOptions::default();
        options.copy = true;
        let reader = match Reader::<Xxh3>::with_options(&prefix, options) {
            Ok(reader) => reader,
            Err(error) => return FoundJob::without_reader(prefix, files, state_version, &error),
        };
        let mut job = FoundJob {
            prefix,
            reader: Some(reader),
            life: Life::Running,
            state_version,
            sequence: None,
            snapshot: None,
            trouble: None,
        };
        job.refresh();
        let is_silent =
            job.life == Life::Running && job.snapshot.is_none() && job.trouble.is_none();
        match job.life {
            Life::Over => Lookup::Nothing,
            _ if is_silent => Lookup::Nothing,
            _ => Lookup::Job(Box::new(job)),
        }
    }

    /// Returns what is under a prefix whose shared memory can't be read.
    fn without_reader(
        prefix: PathBuf,
        files: &JobFiles,
        state_version: Option<StateFileVersion>,
        error: &xsort_shm::Error,
    ) -> Lookup {
        let lives = has_writer(&prefix).unwrap_or(false);
        let is_nascent = matches!(error, xsort_shm::Error::NotReady { .. });
        let is_gone = || files.files.iter().all(|file| fs::symlink_metadata(file).is_err());
        let life = if lives { Life::Running } else { Life::Dead };
        match (is_nascent, lives) {
            (true, false) => Lookup::Nascent(prefix),
            (true, true) => Lookup::Nothing,
            (false, false) if is_gone() => Lookup::Nothing,
            (false, _) => Lookup::Job(Box::new(FoundJob {
                state_version,
                ..FoundJob::unreadable(prefix, life, error.to_string())
            })),
        }
    }

    /// Returns a job whose state can't be read.
    pub(crate) fn unreadable(prefix: PathBuf, life: Life, trouble: String) -> FoundJob {
        FoundJob {
            prefix,
            reader: None,
            life,
            state_version: None,
            sequence: None,
            snapshot: None,
            trouble: Some(trouble),
        }
    }

    /// Returns the job with its current state, or `None` if it no longer has the name. A dead job
    /// isn't opened again until another job takes over its name.
    pub(crate) fn refreshed(mut self) -> Option<FoundJob> {
        if self.life == Life::Dead {
            let is_same =
                self.state_version.is_some() && self.state_version == state_version(&self.prefix);
            return is_same.then_some(self);
        }
        self.refresh();
        (self.reader.is_some() && self.life == Life::Running).then_some(self)
    }

    /// Reads the job's state again, unless it is known to be dead or over. If there is no newer
    /// one, the last snapshot stays.
    pub fn refresh(&mut self) {
        let Some(reader) = &self.reader else { return };
        // In this order: a job that ends first removes its files, then releases the lock.
        let has_writer = reader.has_writer().unwrap_or(false);
        let is_orphaned = reader.is_orphaned().unwrap_or(true);
        self.life = match (is_orphaned, has_writer) {
            (true, _) => Life::Over,
            (false, true) => Life::Running,
            (false, false) => Life::Dead,
        };
        match reader.read() {
            Ok(version) if self.sequence == Some(version.sequence()) => {}
            Ok(version) => {
                self.sequence = Some(version.sequence());
                match Snapshot::parse(&version) {
                    Ok(snapshot) => (self.snapshot, self.trouble) = (Some(snapshot), None),
                    Err(error) => self.trouble = Some(error.to_string()),
                }
            }
            Err(xsort_shm::Error::NotReady { .. }) => {}
            Err(error) => (self.sequence, self.trouble) = (None, Some(error.to_string())),
        }
        if self.life != Life::Running {
            self.reader = None;
        }
    }

    /// Returns the common beginning of the paths of its files.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Returns the name under which it was found: its process ID, with a suffix if several jobs
    /// have the same ID.
    pub fn name(&self) -> &str {
        self.prefix.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Returns whether it lived at the last refresh.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Returns the last snapshot that could be parsed.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Returns why its state can't be read or parsed.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Returns whether `name` is its name or its process ID.
    pub fn is_called(&self, name: &str) -> bool {
        self.name() == name
            || self.snapshot().is_some_and(|snapshot| snapshot.job.pid.to_string() == name)
    }
}

fn state_version(prefix: &Path) -> Option<StateFileVersion> {
    let state = fs::symlink_metadata(state_file(prefix)).ok()?;
    Some((state.dev(), state.ino(), state.ctime(), state.ctime_nsec()))
}
