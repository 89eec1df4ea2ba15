//! What can go wrong between memory and a drive.

use std::io;
use std::path::PathBuf;

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Opening a file.
    Open,
    /// Creating a file.
    Create,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Reserving space.
    Reserve,
    /// Making durable.
    Sync,
    /// Renaming into place.
    Rename,
    /// Removing.
    Remove,
    /// Asking for a file's or a drive's properties.
    Inspect,
    /// Mapping memory.
    Map,
    /// Setting up the I/O engine.
    Start,
}

/// A failed operation on a file: what, where, why. Its text is one line that ends in the way out where one is known.
#[derive(Debug, thiserror::Error)]
#[error("{operation:?} {path:?} at byte {offset:?}: {source}")]
pub struct Error {
    /// What was being done.
    pub operation: Operation,
    /// The file or directory.
    pub path: PathBuf,
    /// The offset in bytes, for transfers.
    pub offset: Option<u64>,
    /// The operating system's reason.
    pub source: io::Error,
}
