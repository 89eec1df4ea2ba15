//! What a killed job left: its shared memory; and hidden files, where the file system knows no
//! nameless ones.
//!
//! Such a file is called `.NAME.xsort-PID-RANDOM`. The number of a process is no proof: another may
//! have it by now, or in another container. So a file is the dead job's only if it was written to
//! between the job's beginning and its last word, nobody has it open as far as that can be seen
//! from here, and nobody holds the lock (flock) that every job has on its output: that is seen in
//! all containers and of all users, on all of one kernel.

use crate::parts::{self, Jobs, Parts, complaint, state_of};
use crate::{Found, Life, Snapshot};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_shm::WriterLock;

/// A job publishes ten times a second; it was dead this many seconds after its last word, unless it
/// was stopped.
const LAST_WORD_SECONDS: f64 = 5.0;

/// Digits of the random number in a hidden name.
const RANDOM_DIGITS: usize = 16;

/// What is left of a dead job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// The files of its status.
    pub status: Vec<PathBuf>,
    /// Hidden files with its data, and their sizes in bytes.
    pub hidden: Vec<(PathBuf, u64)>,
}

/// What came of clearing a job.
#[derive(Debug, Default)]
pub struct Cleared {
    /// What was removed.
    pub removed: Leftovers,
    /// What could not be, and why.
    pub failures: Vec<(PathBuf, io::Error)>,
}

/// What a job left; nothing if it lives. Of many jobs an [`Inventory`] is the way.
pub fn leftovers(found: &Found) -> Leftovers {
    Inventory::default().leftovers(found)
}

/// Removes what a dead job left. Of many jobs an [`Inventory`] is the way.
pub fn clear(found: &Found) -> Cleared {
    Inventory::default().clear(found)
}

/// What is in the directories of dead jobs, each listed once however many jobs share it: when it is
/// first asked for, so after these were found dead.
#[derive(Default)]
pub struct Inventory {
    status: HashMap<PathBuf, Jobs>,
    /// Files with hidden names, by the number of their process.
    hidden: HashMap<PathBuf, HashMap<u32, Vec<PathBuf>>>,
    /// Device and number of all files that processes of this user have open.
    open: Option<HashSet<(u64, u64)>>,
}

impl Inventory {
    /// What a job left; nothing if it lives.
    pub fn leftovers(&mut self, found: &Found) -> Leftovers {
        if found.life() != Life::Dead {
            return Leftovers::default();
        }
        let status = self.parts(found).map(|parts| parts.files.clone()).unwrap_or_default();
        Leftovers {
            status,
            hidden: found.snapshot().map(|told| self.hidden(told)).unwrap_or_default(),
        }
    }

    /// Removes what a dead job left. One that lives is left alone, also if it came to life
    /// meanwhile.
    pub fn clear(&mut self, found: &Found) -> Cleared {
        let mut cleared = Cleared::default();
        let left = self.leftovers(found);
        for (path, bytes) in left.hidden {
            if cleared.remove(&path) {
                cleared.removed.hidden.push((path, bytes));
            }
        }
        // Last, and only if nothing else is left: it tells of the others.
        if !cleared.failures.is_empty() {
            return cleared;
        }
        let Some(parts) = self.parts(found) else { return cleared };
        if !parts.files.is_empty() && parts.foreign_state().is_none() {
            cleared.remove_status(found.prefix(), parts.files);
        }
        let complaint = |(path, kind)| (path, io::Error::other(complaint(kind)));
        cleared.failures.extend(parts.strangers.into_iter().map(complaint));
        cleared
    }

    /// What has the names of a job's files.
    fn parts(&mut self, found: &Found) -> Option<Parts> {
        let directory = found.prefix().parent()?;
        // A directory that can't be listed is told of by the search.
        let list = || parts::list(directory).unwrap_or_default();
        let jobs = self.status.entry(directory.to_owned()).or_insert_with(list);
        jobs.get(found.prefix()).cloned()
    }

    /// The hidden files of a dead job.
    fn hidden(&mut self, snapshot: &Snapshot) -> Vec<(PathBuf, u64)> {
        let mut found: Vec<(PathBuf, Metadata)> = Vec::new();
        for place in &snapshot.places {
            let named =
                self.hidden.entry(place.into()).or_insert_with_key(|place| hidden_in(place));
            let named = named.get(&snapshot.job.pid).into_iter().flatten();
            found.extend(
                named.filter_map(|path| Some((path.clone(), fs::symlink_metadata(path).ok()?))),
            );
        }
        found.retain(|(_, metadata)| metadata.is_file() && is_of_its_time(metadata, snapshot));
        if !found.is_empty() {
            let open = self.open.get_or_insert_with(open_files);
            found.retain(|(path, metadata)| {
                !open.contains(&(metadata.dev(), metadata.ino())) && !is_locked(path)
            });
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup_by(|a, b| a.0 == b.0);
        found.into_iter().map(|(path, metadata)| (path, metadata.len())).collect()
    }
}

impl Cleared {
    /// Removes a file, and notes if it can't be. False if nobody has to be told that it is gone,
    /// because somebody else removed it.
    fn remove(&mut self, path: &Path) -> bool {
        match fs::remove_file(path) {
            Ok(()) => return true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.failures.push((path.to_owned(), error)),
        }
        false
    }

    /// Removes the files of a dead job's status, unless somebody has its name by now.
    fn remove_status(&mut self, prefix: &Path, files: Vec<PathBuf>) {
        let _lock = match WriterLock::acquire(prefix) {
            Ok(vacancy) => vacancy,
            Err(xsort_shm::Error::Busy { .. }) => return,
            Err(error) => return self.failures.push(failure(prefix, error)),
        };
        let state = state_of(prefix);
        for path in files {
            if path != state && self.remove(&path) {
                self.removed.status.push(path);
            }
        }
        // Last, as before. The vacancy made it if there was none.
        if self.failures.is_empty() && self.remove(&state) {
            self.removed.status.push(state);
        }
    }
}

/// Why the name of a dead job can't be had.
fn failure(prefix: &Path, error: xsort_shm::Error) -> (PathBuf, io::Error) {
    match error {
        xsort_shm::Error::Io { operation, path, source } => {
            (path, io::Error::new(source.kind(), format!("{operation} it: {source}")))
        }
        error => (prefix.to_owned(), io::Error::other(error)),
    }
}

/// The files with hidden names in a directory, by the number of their process.
fn hidden_in(directory: &Path) -> HashMap<u32, Vec<PathBuf>> {
    let mut hidden = HashMap::<u32, Vec<PathBuf>>::new();
    for path in listed(directory) {
        if let Some(pid) = path.file_name().and_then(|name| process_of(name.as_bytes())) {
            hidden.entry(pid).or_default().push(path);
        }
    }
    hidden
}

fn listed(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The process that a hidden file is of by its name, which may be any bytes.
fn process_of(name: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b".xsort-";
    let at = name.windows(MARK.len()).rposition(|window| window == MARK)?;
    let (pid, random) = std::str::from_utf8(&name[at + MARK.len()..]).ok()?.split_once('-')?;
    let is_ours = name.starts_with(b".")
        && random.len() == RANDOM_DIGITS
        && random.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let number = pid.parse::<u32>().ok().filter(|number| is_ours && number.to_string() == pid)?;
    (at > 0).then_some(number)
}

/// Whether a file was written to last while the job lived. Where the clock jumped meanwhile, that
/// is from and to whatever it has shown: the job counted its seconds without it.
fn is_of_its_time(metadata: &Metadata, snapshot: &Snapshot) -> bool {
    let written = metadata.mtime() as f64 + metadata.mtime_nsec() as f64 / 1e9;
    let (begun, told) = (snapshot.job.started_unix_seconds, snapshot.taken_unix_seconds);
    let begun = begun.min(told - snapshot.seconds);
    let told = told.max(snapshot.job.started_unix_seconds + snapshot.seconds);
    // The clock of a file's times is a tick late.
    (begun - 1.0..=told + LAST_WORD_SECONDS).contains(&written)
}

/// Whether a job that lives holds a file, in whatever container; or whether that can't be known.
fn is_locked(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, Mode::empty()) else { return true };
    flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
}

/// Device and number of all files that processes of this user have open.
fn open_files() -> HashSet<(u64, u64)> {
    let processes = listed(Path::new("/proc")).filter(|path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_digit()))
    });
    let files = processes.flat_map(|process| listed(&process.join("fd")));
    files
        .filter_map(|file| fs::metadata(file).ok())
        .map(|metadata| (metadata.dev(), metadata.ino()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_that_a_job_makes_are_its_own() {
        for (name, pid) in [
            (&b".out.xsort-12-0123456789abcdef"[..], 12),
            (b"..xsort-12-0000000000000000", 12),
            (b".a.xsort-1-b.xsort-12-0123456789abcdef", 12),
            (b".\xff\n.xsort-123-0123456789abcdef", 123),
        ] {
            assert_eq!(process_of(name), Some(pid), "{}", name.escape_ascii());
        }
        for name in [
            &b"out.xsort-12-0123456789abcdef"[..],
            b".xsort-12-0123456789abcdef",
            b".out.xsort-012-0123456789abcdef",
            b".out.xsort-+12-0123456789abcdef",
            b".out.xsort-12-0123456789abcde",
            b".out.xsort-12-0123456789abcdeg",
            b".out.xsort-12-0123456789abcdef.bak",
            b"",
        ] {
            assert_eq!(process_of(name), None, "{}", name.escape_ascii());
        }
    }
}
