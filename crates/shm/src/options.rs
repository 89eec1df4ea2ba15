//! Options for how a writer creates its files, and how a reader reads them.

use crate::owner::Owner;
use std::time::Duration;

/// How a [`Writer`](crate::Writer) creates its files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Number of slots for readers, from 1 to 4,093: one for each reading thread, and one for each
    /// older version that it still holds. Each takes 128 bytes.
    pub readers_max: usize,
    /// Permissions of `P.state` and the buffers: who may read. By default 0644, whatever the umask.
    /// Group and others may never write to them, whatever this says.
    pub mode: u32,
    /// Permissions of `P.readers`: who may read without copying, and can be woken. By default 0660,
    /// whatever the umask.
    ///
    /// Users who may write this file are trusted not to shorten it: that would end the writer and
    /// the readers with a signal. Users whom an earlier writer's mode allowed to write may still
    /// have the file open, so a writer with a stricter mode creates new files.
    pub readers_mode: u32,
    /// Writes each version to a new file, which is never written again.
    ///
    /// Readers that may not write `P.readers` then map it instead of copying it, whatever its size,
    /// and are woken. A write takes tens of microseconds.
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
    /// Verifies the checksum of each version once, when a thread first reads it. On by default.
    pub verify: bool,
    /// Takes no slot and copies each version to private memory: for a writer that is not trusted to
    /// leave published versions unchanged. Off by default. A reader that may not write `P.readers`
    /// copies in any case.
    pub copy: bool,
    /// How long opening waits for a writer that has not created its files yet. Zero by default.
    pub wait: Duration,
    /// Whose files the reader trusts. By default files of its own user and of root that no other
    /// user may write. Name the writer's user here if it is another one.
    pub owner: Owner,
}

impl Default for ReaderOptions {
    fn default() -> ReaderOptions {
        ReaderOptions { verify: true, copy: false, wait: Duration::ZERO, owner: Owner::Own }
    }
}
