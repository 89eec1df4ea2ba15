//! What a killed job left: its shared memory; and hidden files, where the file system knows no nameless ones.
//!
//! Such a file is called `.NAME.xsort-PID-RANDOM`. The number of a process is no proof: another may have it by now, or in another container. So
//! a file is the dead job's only if it was written to between the job's beginning and its last word, nobody has it open as far as that can be seen from here,
//! and nobody holds the lock (flock) that every job has on its output: that is seen in all containers and of all users, on all of one kernel.

use crate::{Found, Life, Snapshot};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A job publishes ten times a second; it was dead this many seconds after its last word, unless it was stopped.
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

/// What a job left; nothing if it lives.
pub fn leftovers(found: &Found) -> Leftovers {
    if found.life() != Life::Dead {
        return Leftovers::default();
    }
    let mut status = Vec::new();
    let prefix = found.prefix();
    if let (Some(directory), Some(name)) =
        (prefix.parent(), prefix.file_name().and_then(|name| name.to_str()))
    {
        let is_part = |path: &PathBuf| {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            file.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        };
        status = listed(directory).filter(is_part).collect();
        status.sort();
    }
    Leftovers { status, hidden: found.snapshot().map(hidden).unwrap_or_default() }
}

/// Removes what a dead job left, and says what. One that lives is left alone, also if it came to life meanwhile.
///
/// # Errors
/// If something can't be removed; the rest is tried all the same.
pub fn clear(found: &Found) -> io::Result<Leftovers> {
    let left = leftovers(found);
    if found.life() != Life::Dead {
        return Ok(left);
    }
    let mut result = Ok(());
    for (path, _) in &left.hidden {
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            result = Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
        }
    }
    // Last: it tells of the others. It takes the writer's lock, so that a job that has the name by now is left alone.
    match xsort_shm::remove(found.prefix()) {
        Ok(_) => {}
        Err(xsort_shm::Error::Busy { .. }) => return Ok(Leftovers { status: Vec::new(), ..left }),
        Err(error) => result = Err(io::Error::other(error.to_string())),
    }
    result.map(|()| left)
}

/// The hidden files of a dead job.
fn hidden(snapshot: &Snapshot) -> Vec<(PathBuf, u64)> {
    let mut found: Vec<(PathBuf, Metadata)> = snapshot
        .places
        .iter()
        .flat_map(|place| listed(Path::new(place)))
        .filter(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_of(name, snapshot.job.pid))
        })
        .filter_map(|path| fs::symlink_metadata(&path).ok().map(|metadata| (path, metadata)))
        .filter(|(_, metadata)| metadata.is_file() && is_of_its_time(metadata, snapshot))
        .collect();
    if !found.is_empty() {
        let open = open_files();
        found
            .retain(|(path, metadata)| !open.contains(&(metadata.dev(), metadata.ino())) && !is_locked(path));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.dedup_by(|a, b| a.0 == b.0);
    found.into_iter().map(|(path, metadata)| (path, metadata.len())).collect()
}

fn listed(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Whether a name is that of a hidden file of this process.
fn is_of(name: &str, pid: u32) -> bool {
    let mark = format!(".xsort-{pid}-");
    let Some((stem, random)) = name.rsplit_once(&mark) else { return false };
    stem.starts_with('.')
        && random.len() == RANDOM_DIGITS
        && random.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Whether a file was written to last while the job lived.
fn is_of_its_time(metadata: &Metadata, snapshot: &Snapshot) -> bool {
    let written = metadata.mtime() as f64 + metadata.mtime_nsec() as f64 / 1e9;
    // The clock of a file's times is a tick late.
    let begun = snapshot.job.started_unix_seconds - 1.0;
    (begun..=snapshot.taken_unix_seconds + LAST_WORD_SECONDS).contains(&written)
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
        for name in [
            ".out.xsort-12-0123456789abcdef",
            "..xsort-12-0000000000000000",
            ".a.xsort-1-b.xsort-12-0123456789abcdef",
        ] {
            assert!(is_of(name, 12), "{name}");
        }
        for name in [
            ".out.xsort-123-0123456789abcdef",
            ".out.xsort-1-0123456789abcdef",
            "out.xsort-12-0123456789abcdef",
            ".out.xsort-12-0123456789abcde",
            ".out.xsort-12-0123456789abcdeg",
            ".out.xsort-12-0123456789abcdef.bak",
            "",
        ] {
            assert!(!is_of(name, 12), "{name}");
        }
    }
}
