//! The trait through which the caller learns what was found.

use crate::directory::Directory;
use crate::stat::{Identity, Kind};
use crate::usage::Usage;
use std::fmt::{self, Display, Formatter};
use std::io;

/// Learns what a walk finds. Several threads may call at once.
pub trait Visitor: Sync {
    /// Whether to leave out the file of this path and everything below it. Only called if
    /// [`Options::has_excludes`](crate::Options::has_excludes).
    fn excludes(&self, path: &[u8]) -> bool {
        let _ = path;
        false
    }

    /// A file is counted completely; a directory after everything in it.
    fn found(&self, file: &FoundFile<'_>);

    /// A file can't be counted, or not completely; the walk goes on.
    fn failed(&self, error: &WalkError);

    /// More inodes and bytes were counted: progress, called once for a batch of files.
    fn advance(&self, inodes: u64, allocated_bytes: u64) {
        let _ = (inodes, allocated_bytes);
    }

    /// Whether to abandon the walk; called between tasks. What was found until then is incomplete.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A file or directory that is counted completely.
#[derive(Debug)]
pub struct FoundFile<'a> {
    /// 0 for arguments, 1 for their entries.
    pub depth: usize,
    /// What kind of file it is.
    pub kind: Kind,
    /// Which file it is.
    pub identity: Identity,
    /// Whether it has other names (hard links); never true of directories.
    pub has_links: bool,
    /// Itself and everything below.
    pub total: Usage,
    /// Itself and its entries, without subdirectories; with
    /// [`Detail::Total`](crate::Detail::Total) it depends on the order of the walk.
    pub own: Usage,
    pub(crate) parent: Option<&'a Directory>,
    pub(crate) name: &'a [u8],
}

impl FoundFile<'_> {
    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// The argument as it was given, less all slashes at its end but one, and the names from there.
    /// (An argument that contains nothing has none with [`Follow::Always`](crate::Follow::Always).)
    pub fn path(&self) -> Vec<u8> {
        self.parent.map_or_else(|| self.name.to_vec(), |parent| parent.path_of(self.name))
    }

    /// The last name of the path; the whole of an argument.
    pub fn name(&self) -> &[u8] {
        self.name
    }
}

/// What went wrong where.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {source}", String::from_utf8_lossy(path))]
pub struct WalkError {
    /// As [`FoundFile::path`].
    pub path: Vec<u8>,
    /// What failed.
    pub operation: Operation,
    /// Why it failed.
    pub source: io::Error,
}

/// What can fail during a walk.
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
