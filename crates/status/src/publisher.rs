//! The job's side: a prefix of its own in a directory, and snapshots into it.
//!
//! A directory that is full, or whose files somebody took away (a session's end removes them), is
//! left for the next one, or made anew.

use crate::found::Found;
use crate::leftovers::leftovers;
use crate::parts::state_of;
use crate::place::make;
use crate::{Place, Snapshot};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_shm::{Error, Writer, WriterOptions, Xxh3};

/// Jobs with one number, in several containers that share the directory.
const NAMESAKES_MAX: u32 = 16;

/// Readers that read without copying at the same time; more copy.
const READERS_MAX: usize = 64;

/// Publishes the snapshots of one job. Dropping it leaves the last one, as a kill does;
/// [`Publisher::end`] takes it away.
pub struct Publisher {
    place: Place,
    pid: u32,
    home: Option<Home>,
}

impl Publisher {
    /// Begins to publish, under the number of the process.
    ///
    /// # Errors
    /// A reason in words. A job does well without.
    pub fn open(place: &Place, pid: u32) -> Result<Publisher, String> {
        let mut publisher = Publisher { place: place.clone(), pid, home: None };
        publisher.settle(0, &mut Vec::new())?;
        Ok(publisher)
    }

    /// The beginning of the names of its files.
    pub fn prefix(&self) -> &Path {
        self.home.as_ref().map_or(Path::new(""), |home| &home.prefix)
    }

    /// Shows what is now.
    ///
    /// # Errors
    /// A reason in words: no directory has room for it. Then nothing of it stays.
    pub fn publish(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let bytes = snapshot.to_bytes();
        let mut tried = Vec::new();
        if self.home.as_ref().is_none_or(|home| !home.is_there()) {
            // Who took them away took them whole: nothing is left to be removed.
            self.home = None;
            self.settle(0, &mut tried)?;
        }
        loop {
            let home = self.home.as_mut().expect("settled, or its error was returned");
            let Err(error) = home.writer.write(&bytes) else { return Ok(()) };
            tried.push(error.to_string());
            let next = home.candidate + 1;
            self.leave();
            self.settle(next, &mut tried)?;
        }
    }

    /// The job is over, and nothing of it stays.
    pub fn end(mut self) {
        self.leave();
    }

    /// Takes away what it published.
    fn leave(&mut self) {
        // The names may be another's by now, if somebody took its files away.
        if let Some(home) = self.home.take().filter(Home::is_there) {
            // What can't be removed is shown as a dead job, and cleared as one.
            let _ = home.writer.remove();
        }
    }

    /// Makes the files in the first directory from this one on that can have them.
    fn settle(&mut self, from: usize, tried: &mut Vec<String>) -> Result<(), String> {
        let candidates = self.place.candidates();
        for (candidate, directory) in candidates.iter().enumerate().skip(from) {
            match make(directory).and_then(|()| open_in(directory, self.pid)) {
                Ok((writer, prefix)) => {
                    let inode = inode(&prefix);
                    self.home = Some(Home { writer, prefix, inode, candidate });
                    return Ok(());
                }
                Err(reason) => tried.push(reason),
            }
        }
        Err(tried.join("; "))
    }
}

/// Where a job publishes.
struct Home {
    writer: Writer<Xxh3>,
    prefix: PathBuf,
    /// Device and number of its state.
    inode: Option<(u64, u64)>,
    /// Which directory of the place.
    candidate: usize,
}

impl Home {
    /// Whether its files still have their names.
    fn is_there(&self) -> bool {
        self.inode.is_some() && self.inode == inode(&self.prefix)
    }
}

fn inode(prefix: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(state_of(prefix)).ok().map(|state| (state.dev(), state.ino()))
}

/// Makes the files of a job, or none, under the first name that is free.
fn open_in(directory: &Path, pid: u32) -> Result<(Writer<Xxh3>, PathBuf), String> {
    let mut options = WriterOptions::default();
    (options.readers_max, options.mode, options.readers_mode) = (READERS_MAX, 0o600, 0o600);
    for namesake in 0..NAMESAKES_MAX {
        let name = if namesake == 0 { pid.to_string() } else { format!("{pid}-{namesake}") };
        let prefix = directory.join(name);
        // The status of a dead job with this number is all that tells of its hidden files.
        let is_needed = inode(&prefix).is_some()
            && Found::at(&prefix).is_some_and(|found| !leftovers(&found).hidden.is_empty());
        if is_needed {
            continue;
        }
        match Writer::with_options(&prefix, options.clone()) {
            Ok(writer) => return Ok((writer, prefix)),
            Err(error @ Error::Io { .. }) => {
                // What was made before there was no room for more.
                let _ = xsort_shm::remove(&prefix);
                return Err(error.to_string());
            }
            // Another job's, of another version of the program or another user perhaps, or no
            // job's.
            Err(_) => {}
        }
    }
    Err(format!(
        "{}: all names for process {pid} are taken; xsort status --clear removes what killed jobs left",
        directory.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FORMAT, find};
    use std::path::Path;
    use std::process::Command;

    fn mount(words: &[&str], directory: &Path) -> bool {
        Command::new("mount")
            .args(words)
            .arg(directory)
            .output()
            .is_ok_and(|ran| ran.status.success())
    }

    /// Whatever of it there is no room for, it is somewhere else then, and nowhere twice.
    #[test]
    fn a_job_goes_to_the_next_directory_where_one_is_full() {
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let place = Place::of_candidates(vec![
            first.path().into(),
            "/proc/no".into(),
            second.path().into(),
        ]);
        let told = Snapshot { format: FORMAT, ..Snapshot::default() };
        let names = |directory: &Path| fs::read_dir(directory).unwrap().count();
        for (size, is_enough) in [(4, false), (12, false), (16, false), (20, false), (1024, true)] {
            if !mount(
                &["-t", "tmpfs", "-o", &format!("mode=700,size={size}k"), "none"],
                first.path(),
            ) {
                eprintln!("SKIPPED: nothing can be mounted here");
                return;
            }
            let mut publisher = Publisher::open(&place, 7).unwrap();
            let published = (0..2).all(|_| publisher.publish(&told).is_ok());
            let found = find(&place).len();
            let (left, taken) = (names(first.path()), names(second.path()));
            publisher.end();
            let after = names(first.path()) + names(second.path());
            assert!(Command::new("umount").arg(first.path()).status().unwrap().success());
            assert!(published, "{size}");
            assert_eq!(
                (found, left > 0, taken > 0, after),
                (1, is_enough, !is_enough, 0),
                "{size}"
            );
        }
    }
}
