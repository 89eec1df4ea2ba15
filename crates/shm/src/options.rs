//! How a writer makes its files, and how a reader reads them.

use crate::owner::Owner;
use std::time::Duration;

/// How a [`Writer`](crate::Writer) makes its files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Slots for readers: one for each thread that reads, and one for each older version that it
    /// still holds. Each takes 128 bytes. 1 to 4,093.
    pub readers_max: usize,
    /// Permissions of `P.state` and the buffers: who may read. 0644 by default, whatever the umask.
    /// Group and others may never write to them, whatever this says.
    pub mode: u32,
    /// Permissions of `P.readers`: who may read without copying, and can be woken. 0660 by default,
    /// whatever the umask.
    ///
    /// Users who may write this file are trusted not to shorten it: that would end the writer and
    /// the readers with a signal. A user whom an earlier writer's mode allowed that may still have
    /// the file open, so a writer with a stricter mode makes new files.
    pub readers_mode: u32,
    /// Writes each version to a new file, which is never written again.
    ///
    /// Readers that may not write `P.readers` then map it instead of copying it, however large it
    /// is, and are woken. A write takes tens of microseconds.
    pub fresh_files: bool,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { readers_max: 1024, mode: 0o644, readers_mode: 0o660, fresh_files: false }
    }
}

/// How a [`Reader`](crate::Reader) reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReaderOptions {
    /// Checks the checksum of each version, once, when a thread first reads it. On by default.
    pub verify: bool,
    /// Takes no slot and copies each version to private memory: for a writer that is not trusted to
    /// leave alone what it has published. Off by default. A reader that may not write `P.readers`
    /// does the same anyway.
    pub copy: bool,
    /// How long opening waits for a writer that has not made its files yet. Not at all by default.
    pub wait: Duration,
    /// Whose files it trusts: by default those of its own user and of root, if nobody else may
    /// write to them. Name the writer's user here if that is another one.
    pub owner: Owner,
}

impl Default for ReaderOptions {
    fn default() -> ReaderOptions {
        ReaderOptions { verify: true, copy: false, wait: Duration::ZERO, owner: Owner::Own }
    }
}
