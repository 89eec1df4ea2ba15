//! Who is told what was found.

use crate::directory::Directory;
use crate::status::{Identity, Kind};
use crate::usage::Usage;
use std::fmt::{self, Display, Formatter};
use std::io;

/// Is told what a walk finds. Several threads may call at once.
pub trait Visitor: Sync {
    /// Whether to leave out what has this path, and all that is below it. Only asked if
    /// [`Options::has_excludes`](crate::Options::has_excludes).
    fn excludes(&self, path: &[u8]) -> bool {
        let _ = path;
        false
    }

    /// Something is counted whole: a directory after everything in it.
    fn found(&self, found: &Found<'_>);

    /// Something can't be counted, or not whole; the walk goes on.
    fn failed(&self, failure: &Failure);

    /// So much more has been counted: progress, a call a batch of files.
    fn advance(&self, inodes: u64, allocated_bytes: u64) {
        let _ = (inodes, allocated_bytes);
    }

    /// Whether to leave the walk; asked between tasks. What was found by then is worth nothing.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Something that is counted whole.
#[derive(Debug)]
pub struct Found<'a> {
    /// 0 for arguments, 1 for what is right in them.
    pub depth: usize,
    /// What it is.
    pub kind: Kind,
    /// Which file it is.
    pub identity: Identity,
    /// Whether it has other names (hard links); never true of directories.
    pub has_links: bool,
    /// Itself and everything below.
    pub total: Usage,
    /// Itself and what is right in it but directories; with [`Detail::Total`](crate::Detail::Total)
    /// it depends on the order of the walk.
    pub own: Usage,
    pub(crate) within: Option<&'a Directory>,
    pub(crate) name: &'a [u8],
}

impl Found<'_> {
    /// Whether it is one.
    pub fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// The argument as it was given, less all slashes at its end but one, and the names from there.
    pub fn path(&self) -> Vec<u8> {
        self.within.map_or_else(|| self.name.to_vec(), |within| within.path_of(self.name))
    }

    /// The last name of the path; the whole of an argument.
    pub fn name(&self) -> &[u8] {
        self.name
    }
}

/// What went wrong where.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {source}", String::from_utf8_lossy(path))]
pub struct Failure {
    /// As [`Found::path`].
    pub path: Vec<u8>,
    /// What was tried.
    pub operation: Operation,
    /// Why it failed.
    pub source: io::Error,
}

/// What a walk tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// To learn the size of a file: it is not counted.
    Access,
    /// To open a directory: it is counted, but nothing that is in it.
    Open,
    /// To list the rest of a directory: what was listed by then is counted.
    List,
    /// To walk into a directory that holds itself, other than by a mount: the file system is
    /// damaged.
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
