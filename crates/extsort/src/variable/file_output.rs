//! A new file as a writer, for what changes lines on their way out.

use crate::Error;
use crate::store::open_files::OpenFiles;
use crate::store::output_prefix::OutputPrefix;
use crate::store::write_behind::WriteBehind;
use std::io::{self, Write};
use std::path::Path;
use xsort_disk::{BlockPool, Disk, FileId, Lease};

/// Blocks that may be on their way to the drive.
const BLOCKS: usize = 8;
/// Bytes of a block.
const BLOCK_BYTES: usize = 256 << 10;

/// A file that appears whole or not at all, as [`Disk::create_output`] and [`Disk::publish`] have
/// it. It is written past the page cache.
pub struct FileOutput<'d> {
    behind: WriteBehind<'d>,
    disk: &'d dyn Disk,
    file: FileId,
    guard: OpenFiles<'d>,
    written_bytes: u64,
}

impl<'d> FileOutput<'d> {
    /// Bytes of memory that one takes.
    pub const MEMORY_BYTES: u64 = (BLOCKS * BLOCK_BYTES) as u64;

    /// Begins the file that will be at `path`, of about `expected_bytes` bytes.
    ///
    /// # Errors
    /// If the disk can't create it.
    pub fn create(
        disk: &'d dyn Disk,
        path: &Path,
        expected_bytes: u64,
    ) -> Result<FileOutput<'d>, Error> {
        let file = disk.create_output(path)?;
        let guard = OpenFiles::one(disk, file);
        let pool = BlockPool::new([Lease::map(BLOCKS * BLOCK_BYTES)?], BLOCK_BYTES);
        let nothing = OutputPrefix::default();
        let behind = WriteBehind::resume(disk, file, pool, expected_bytes, &nothing)?;
        Ok(FileOutput { behind, disk, file, guard, written_bytes: 0 })
    }

    /// Bytes that it has so far.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Writes what is left, and gives the memory back.
    ///
    /// # Errors
    /// If a write fails.
    pub fn finish(self) -> Result<FinishedOutput<'d>, Error> {
        let FileOutput { behind, disk, file, guard, written_bytes } = self;
        behind.end()?;
        Ok(FinishedOutput { disk, file, guard, written_bytes })
    }

    /// Puts the file in place, and with `sync` makes it safe against a power cut.
    ///
    /// # Errors
    /// If a write fails, or the disk can't put it in place. What was there before is then still
    /// there.
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        self.finish()?.publish(sync)
    }
}

/// A file that is written and not in place yet. It is gone if it is dropped.
pub struct FinishedOutput<'d> {
    disk: &'d dyn Disk,
    file: FileId,
    guard: OpenFiles<'d>,
    written_bytes: u64,
}

impl FinishedOutput<'_> {
    /// Puts the file in place, and with `sync` makes it safe against a power cut.
    ///
    /// # Errors
    /// If the disk can't put it in place. What was there before is then still there.
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        let FinishedOutput { disk, file, mut guard, written_bytes } = self;
        guard.release(file);
        Ok(disk.publish(file, written_bytes, sync)?)
    }
}

impl Write for FileOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.behind.write(bytes);
        written.map_err(|error| match error {
            Error::Output(source) => source,
            other => io::Error::other(other.to_string()),
        })?;
        self.written_bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    /// Does nothing: what was written counts when it is published.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
