//! The trait through which the caller gets the results.

use crate::directory::Directory;
use crate::stat::{Identity, Kind};
use crate::usage::Usage;
use std::fmt::{self, Display, Formatter};
use std::io;

/// Receives the results of a walk. Several threads may call it at once.
pub trait Visitor: Sync {
    /// Returns whether to leave out the file of this path and everything below it. Only called if
    /// [`Options::has_excludes`](crate::Options::has_excludes) is set.
    fn excludes(&self, path: &[u8]) -> bool {
        let _ = path;
        false
    }

    /// Called when a file is completely counted; for a directory, after everything in it.
    fn found(&self, file: &FoundFile<'_>);

    /// Called if a file can't be counted, or not completely. The walk continues.
    fn failed(&self, error: &WalkError);

    /// Reports progress: more inodes and bytes were counted. Called once for a batch of files.
    fn advance(&self, inodes: u64, allocated_bytes: u64) {
        let _ = (inodes, allocated_bytes);
    }

    /// Returns whether to abandon the walk; called between tasks. The results until then are
    /// incomplete.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A file or directory that is completely counted.
#[derive(Debug)]
pub struct FoundFile<'a> {
    /// 0 for arguments, 1 for their entries.
    pub depth: usize,
    /// The kind of file.
    pub kind: Kind,
    /// The file's identity.
    pub identity: Identity,
    /// Whether it has other names (hard links); always false for directories.
    pub has_links: bool,
    /// The file itself and everything below.
    pub total: Usage,
    /// The directory itself and its entries, without subdirectories. With
    /// [`Detail::Total`](crate::Detail::Total) it depends on the order of the walk.
    pub own: Usage,
    pub(crate) parent: Option<&'a Directory>,
    pub(crate) name: &'a [u8],
}

impl FoundFile<'_> {
    /// Returns whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// Returns the path: the argument as it was given, with at most one slash at its end, and the
    /// names below it. (An empty argument has no slash with
    /// [`Follow::Always`](crate::Follow::Always).)
    pub fn path(&self) -> Vec<u8> {
        self.parent.map_or_else(|| self.name.to_vec(), |parent| parent.path_of(self.name))
    }

    /// Returns the last name of the path; for an argument, all of it.
    pub fn name(&self) -> &[u8] {
        self.name
    }
}

/// An error at one place of a walk.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {source}", String::from_utf8_lossy(path))]
pub struct WalkError {
    /// The path, in the form of [`FoundFile::path`].
    pub path: Vec<u8>,
    /// What failed.
    pub operation: Operation,
    /// Why it failed.
    pub source: io::Error,
}

/// The operation that failed during a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Stat: the file is not counted.
    Access,
    /// Opening a directory: it is counted, but none of its entries.
    Open,
    /// Listing the rest of a directory: entries listed before are counted.
    List,
    /// Walking into a directory that contains itself without a mount: the file system is damaged.
    Cycle,
}

impl Display for Operation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Operation::Access => "accessing",
            Operation::Open => "opening directory",
            Operation::List => "listing directory",
            Operation::Cycle => "walking into",
        })
    }
}
