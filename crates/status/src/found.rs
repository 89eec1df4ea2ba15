//! The watcher's side: which jobs there are, and whether they live.
//!
//! A job lives while its process holds the lock of its shared memory; the number of a process says
//! nothing, for it may be another's by now.

use crate::parts::{self, Jobs, Parts, state_of};
use crate::{Place, Snapshot};
use std::collections::HashMap;
use std::fs;
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use xsort_shm::{Reader, ReaderOptions, Xxh3, has_writer};

/// Jobs that are making their files get so long to be done with them, all together; those that were
/// killed then never are.
const NASCENT_LOOKS: u32 = 10;
const NASCENT_PAUSE: Duration = Duration::from_millis(5);

/// A job that was found.
#[derive(Clone)]
pub struct Found {
    prefix: PathBuf,
    /// Only of jobs that live: thousands of dead ones must not take as many descriptors.
    reader: Option<Reader<Xxh3>>,
    life: Life,
    /// The state's file when it was found dead.
    mark: Option<Mark>,
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

/// What a look into the directories of a place gave.
#[derive(Default)]
pub struct Search {
    /// The jobs: those that live before the dead, and the oldest first.
    pub jobs: Vec<Found>,
    /// Directories that can't be looked into, and why.
    pub troubles: Vec<String>,
}

/// A file, and when its owner, mode or content changed last: a job that takes over a dead one's
/// name sets the mode of its files.
type Mark = (u64, u64, i64, i64);

/// All jobs of these directories, dead ones too: those that live before the dead, and the oldest
/// first.
pub fn find(place: &Place) -> Vec<Found> {
    search(place, Vec::new(), &|| false).jobs
}

/// The same, from what is known already, and until `is_stopped` says so.
pub fn search(place: &Place, known: Vec<Found>, is_stopped: &dyn Fn() -> bool) -> Search {
    let mut known: HashMap<PathBuf, Found> =
        known.into_iter().map(|found| (found.prefix.clone(), found)).collect();
    let (directories, mut troubles) = place.looked_at();
    let (mut jobs, mut nascent) = (Vec::new(), Vec::new());
    for directory in directories {
        let listed = parts::list(&directory).unwrap_or_else(|error| {
            troubles.push(format!("{}: {error}", directory.display()));
            Jobs::new()
        });
        for (prefix, parts) in listed {
            if is_stopped() {
                return Search { jobs, troubles };
            }
            match known.remove(&prefix).and_then(Found::again) {
                Some(found) => jobs.push(found),
                None => match Found::open(prefix, &parts) {
                    Opened::Job(found) => jobs.push(*found),
                    Opened::Nascent(prefix) => nascent.push((prefix, parts)),
                    Opened::Nothing => {}
                },
            }
        }
    }
    jobs.extend(born(nascent, is_stopped));
    let begun = |found: &Found| {
        found.snapshot.as_ref().map_or(0.0, |snapshot| snapshot.job.started_unix_seconds)
    };
    let is_dead = |found: &Found| found.life == Life::Dead;
    jobs.sort_by(|a, b| {
        let by_age = || begun(a).total_cmp(&begun(b)).then_with(|| a.prefix.cmp(&b.prefix));
        is_dead(a).cmp(&is_dead(b)).then_with(by_age)
    });
    Search { jobs, troubles }
}

/// Waits for those whose state is empty, or has no writer yet: all of them together. Who still has
/// none then is dead.
fn born(mut nascent: Vec<(PathBuf, Parts)>, is_stopped: &dyn Fn() -> bool) -> Vec<Found> {
    let mut jobs = Vec::new();
    for _ in 0..NASCENT_LOOKS {
        if nascent.is_empty() || is_stopped() {
            break;
        }
        thread::sleep(NASCENT_PAUSE);
        for (prefix, parts) in mem::take(&mut nascent) {
            match Found::open(prefix, &parts) {
                Opened::Job(found) => jobs.push(*found),
                Opened::Nascent(prefix) => nascent.push((prefix, parts)),
                Opened::Nothing => {}
            }
        }
    }
    jobs.extend(nascent.into_iter().filter(|(prefix, _)| state_of(prefix).exists()).map(
        |(prefix, _)| {
            let trouble = "its process ended before it said anything".to_owned();
            Found::unread(prefix, Life::Dead, trouble)
        },
    ));
    jobs
}

/// What is under a prefix.
enum Opened {
    Job(Box<Found>),
    /// It has nothing to say yet, or never will.
    Nascent(PathBuf),
    /// Taken away since the listing; or so young that it has nothing to say.
    Nothing,
}

impl Found {
    /// The job under a prefix, if there is one.
    pub(crate) fn at(prefix: &Path) -> Option<Found> {
        match Found::open(prefix.to_owned(), &Parts::default()) {
            Opened::Job(found) => Some(*found),
            Opened::Nascent(_) | Opened::Nothing => None,
        }
    }

    fn open(prefix: PathBuf, parts: &Parts) -> Opened {
        if let Some(trouble) = parts.foreign_state() {
            return Opened::Job(Box::new(Found::unread(prefix, Life::Dead, trouble)));
        }
        // Before it is opened: who takes over the name afterwards is seen by the next look.
        let mark = mark(&prefix);
        // Copied before it is looked at: a snapshot is short, and no slot of the job's is taken for
        // longer.
        let mut options = ReaderOptions::default();
        options.copy = true;
        let reader = match Reader::<Xxh3>::with_options(&prefix, options) {
            Ok(reader) => reader,
            Err(error) => {
                let lives = has_writer(&prefix).unwrap_or(false);
                let is_nascent = matches!(error, xsort_shm::Error::NotReady { .. });
                let is_gone = || parts.files.iter().all(|file| fs::symlink_metadata(file).is_err());
                let life = if lives { Life::Running } else { Life::Dead };
                return match (is_nascent, lives) {
                    (true, false) => Opened::Nascent(prefix),
                    (true, true) => Opened::Nothing,
                    (false, false) if is_gone() => Opened::Nothing,
                    (false, _) => Opened::Job(Box::new(Found {
                        mark,
                        ..Found::unread(prefix, life, error.to_string())
                    })),
                };
            }
        };
        let life = Life::Running;
        let mut found = Found {
            prefix,
            reader: Some(reader),
            life,
            mark,
            read: None,
            snapshot: None,
            trouble: None,
        };
        found.refresh();
        let is_silent =
            found.life == Life::Running && found.snapshot.is_none() && found.trouble.is_none();
        match found.life {
            Life::Over => Opened::Nothing,
            _ if is_silent => Opened::Nothing,
            _ => Opened::Job(Box::new(found)),
        }
    }

    /// One of which nothing can be read.
    fn unread(prefix: PathBuf, life: Life, trouble: String) -> Found {
        Found {
            prefix,
            reader: None,
            life,
            mark: None,
            read: None,
            snapshot: None,
            trouble: Some(trouble),
        }
    }

    /// The same job, if it still has the name; a dead one's isn't opened again as long as nobody
    /// took it over.
    fn again(mut self) -> Option<Found> {
        if self.life == Life::Dead {
            return (self.mark.is_some() && self.mark == mark(&self.prefix)).then_some(self);
        }
        self.refresh();
        (self.reader.is_some() && self.life == Life::Running).then_some(self)
    }

    /// Looks again, if it lived the last time. What was known last stays if there is nothing newer.
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
        if self.life != Life::Running {
            self.reader = None;
        }
    }

    /// The beginning of the names of its files.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The name that it was found under: the number of its process, and more where several have the
    /// same.
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
        self.name() == name
            || self.snapshot().is_some_and(|snapshot| snapshot.job.pid.to_string() == name)
    }
}

fn mark(prefix: &Path) -> Option<Mark> {
    let state = fs::symlink_metadata(state_of(prefix)).ok()?;
    Some((state.dev(), state.ino(), state.ctime(), state.ctime_nsec()))
}
