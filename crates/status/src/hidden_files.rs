//! Which hidden files with data belong to a killed job.
//!
//! Such a file is called `.NAME.xsort-PID-RANDOM`. The process ID proves nothing: another process
//! may have it now, or a process in another container. So a file belongs to the dead job only if
//!
//! - it was last written while the job lived,
//! - no process visible from here has it open, and
//! - no process holds the lock (flock) that every job has on its output. The lock is visible in all
//!   containers and to all users of one kernel.

use crate::snapshot::Snapshot;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number of seconds after its last snapshot at which a job was dead, unless it was stopped. A job
/// publishes ten times a second.
const SILENCE_SECONDS: f64 = 5.0;

/// Number of digits of the random number in a hidden name.
const RANDOM_DIGITS: usize = 16;

/// Lists a directory's files with hidden names, by process ID.
pub(crate) fn list_hidden_files(directory: &Path) -> HashMap<u32, Vec<PathBuf>> {
    let mut hidden = HashMap::<u32, Vec<PathBuf>>::new();
    for path in entries(directory) {
        if let Some(pid) = path.file_name().and_then(|name| process_of(name.as_bytes())) {
            hidden.entry(pid).or_default().push(path);
        }
    }
    hidden
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns the process ID in a hidden file's name, which may be any bytes.
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

/// Returns whether a file was last written while the job lived. If the clock was set during that
/// time, this means between the earliest and the latest time that the clock has shown; the job's
/// own seconds don't depend on the clock.
pub(crate) fn is_written_by(snapshot: &Snapshot, metadata: &Metadata) -> bool {
    let written = metadata.mtime() as f64 + metadata.mtime_nsec() as f64 / 1e9;
    let (started, taken) = (snapshot.job.started_unix_seconds, snapshot.taken_unix_seconds);
    let earliest = started.min(taken - snapshot.seconds);
    let latest = taken.max(started + snapshot.seconds);
    // File times come from a clock that may lag by a tick.
    (earliest - 1.0..=latest + SILENCE_SECONDS).contains(&written)
}

/// Returns whether a living job in any container holds a file; true if that can't be determined.
pub(crate) fn is_locked(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, Mode::empty()) else { return true };
    flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
}

/// Returns device and inode of all files that this user's processes have open.
pub(crate) fn open_files_of_user() -> HashSet<(u64, u64)> {
    let processes = entries(Path::new("/proc")).filter(|path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_digit()))
    });
    let files = processes.flat_map(|process| entries(&process.join("fd")));
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
